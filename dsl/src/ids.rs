//! The ids of a program's parts. Expressions refer to parts by these ids; [`crate::nest`] defines the parts.

use crate::arena::id;

id! {
    /// A dim of a program.
    DimId
}
id! {
    /// A scalar argument of a program.
    ScalarId
}
id! {
    /// An axis of a program.
    AxisId
}
id! {
    /// A buffer of a program.
    BufferId
}
id! {
    /// A stage of a program.
    StageId
}
