//! The ids of a program's parts: expressions name them, and [`crate::nest`] says what they are.

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
