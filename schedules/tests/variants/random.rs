//! Compares the random numbers of this crate with published ones of the same generator.

use tilewright_differential::devices::devices;
use tilewright_schedules::kernels::{philox, philox_uniform};
use tilewright_schedules::lavapipe;

/// The key, the counter, and the resulting four words: the known answers of Random123, by the authors of the generator.
const KNOWN: [([u32; 2], [u32; 4], [u32; 4]); 3] = [
    ([0; 2], [0; 4], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    ([u32::MAX; 2], [u32::MAX; 4], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        [0xa409_3822, 0x299f_31d0],
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

/// One block of Philox-4x32-10.
fn block([mut k, mut l]: [u32; 2], [mut a, mut b, mut c, mut d]: [u32; 4]) -> [u32; 4] {
    for _ in 0..10 {
        let (p, q) = (u64::from(a) * 0xD251_1F53, u64::from(c) * 0xCD9E_8D57);
        (a, b, c, d) = ((q >> 32) as u32 ^ b ^ k, q as u32, (p >> 32) as u32 ^ d ^ l, p as u32);
        (k, l) = (k.wrapping_add(0x9E37_79B9), l.wrapping_add(0xBB67_AE85));
    }
    [a, b, c, d]
}

#[test]
fn known_answers() {
    for device in devices() {
        let plain = device.load(&[philox::DEFAULT]).expect("it loads");
        let fast = device.load(&[lavapipe::random::PHILOX, philox::DEFAULT]).expect("it loads");
        for (key, counter, wanted) in KNOWN {
            assert_eq!(block(key, counter), wanted);
            for kernel in [&plain, &fast] {
                let mut words = device.zeros::<u32>([3, 4]).expect("memory");
                let ([k, l], [a, b, c, d]) = (key, counter);
                kernel.run((k, l, a, b, c, d, &mut words)).expect("it runs");
                // The counter wraps after 64 bits.
                let low = (u64::from(b) << 32) | u64::from(a);
                let rows = (0..3).flat_map(|i| {
                    let low = low.wrapping_add(i);
                    block(key, [low as u32, (low >> 32) as u32, c, d])
                });
                let rows: Vec<u32> = rows.collect();
                assert_eq!(rows[..4], wanted);
                assert_eq!(words.download().expect("words"), rows);
            }
        }
    }
}

#[test]
fn uniform_values_are_the_upper_bits_of_the_words() {
    const ROWS: usize = 5000;
    for device in devices() {
        let words = device.load(&[philox::DEFAULT]).expect("it loads");
        let values = device.load(&[lavapipe::random::PHILOX_UNIFORM, philox_uniform::DEFAULT]).expect("it loads");
        let (mut w, mut v) = (device.zeros::<u32>([ROWS, 4]).expect("memory"), device.zeros::<f32>([ROWS, 4]).expect("memory"));
        words.run((1, 2, 3, 4, 5, 6, &mut w)).expect("it runs");
        values.run((1, 2, 3, 4, 5, 6, &mut v)).expect("it runs");
        let (w, v) = (w.download().expect("words"), v.download().expect("values"));
        assert!(w.iter().zip(&v).all(|(w, v)| f64::from(*v) == f64::from(w >> 8) / f64::from(1 << 24)));
        // The mean of 20,000 values has a standard deviation of 0.002.
        let mean = v.iter().map(|v| f64::from(*v)).sum::<f64>() / v.len() as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        assert!(v.iter().all(|v| (0.0..1.0).contains(v)));
    }
}
