//! `clone`: for later directives, the kernel has the clone as another stage.

use super::tree::Directive;
use crate::kernel::tree::{Expr, ExprKind, Kernel, Role};
use fastrand::Rng;

/// Sometimes clones an intermediate for some of its readers.
pub(super) fn clone(kernel: &mut Kernel, random: &mut Rng) -> Option<Directive> {
    let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, stage) in kernel.stages.iter().enumerate().filter(|(_, stage)| stage.role == Role::Intermediate) {
        let readers: Vec<usize> =
            (0..kernel.stages.len()).filter(|reader| reads(&kernel.stages[*reader].value, &stage.name)).collect();
        if readers.len() > 1 {
            found.push((at, readers));
        }
    }
    let (at, mut readers) = random.choice(found)?;
    random.shuffle(&mut readers);
    readers.truncate(random.usize(1..readers.len()));
    let of = kernel.stages[at].name.clone();
    let into = format!("{of}_clone");
    let names: Vec<String> = readers.iter().map(|reader| kernel.stages[*reader].name.clone()).collect();
    readers.iter().for_each(|reader| redirect(&mut kernel.stages[*reader].value, &of, &into));
    let mut clone = kernel.stages[at].clone();
    clone.name.clone_from(&into);
    kernel.stages.insert(at, clone);
    let readers = if let [name] = &names[..] { name.clone() } else { format!("[{}]", names.join(", ")) };
    let keys = vec![("reader", readers)];
    Some(Directive { produced: vec![into], keys, ..Directive::new("clone", [of]) })
}

fn reads(e: &Expr, name: &str) -> bool {
    let mut found = false;
    e.visit(&mut |e| found |= matches!(&e.kind, ExprKind::Read { tensor, .. } if tensor == name));
    found
}

fn redirect(e: &mut Expr, of: &str, into: &str) {
    if let ExprKind::Read { tensor, .. } = &mut e.kind
        && tensor == of
    {
        into.clone_into(tensor);
    }
    e.children_mut().into_iter().for_each(|child| redirect(child, of, into));
}
