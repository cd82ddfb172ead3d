//! Kernel, profile and schedule in files of their own: the mistake is reported in the schedule's.

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;
#[path = "../support/wrong_schedule.rs"]
mod wrong_schedule;

fn main() {
    println!("{:?}", wrong_schedule::MATMUL);
}
