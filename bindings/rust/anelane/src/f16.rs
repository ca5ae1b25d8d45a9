//! Half precision, the number format of the ports, as `u16`.

/// Rounded to the nearest, ties to even; what is too large becomes infinite.
#[must_use]
pub fn f16_from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00 | (magnitude >> 13 & 0x3ff) as u16;
    }
    // Half of the last place above 65504, and beyond.
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Below 2^-14 the places have one size, 2^-24: adding 1/2 lets the processor round at that place.
        let rounded = f32::from_bits(magnitude) + 0.5;
        return sign | (rounded.to_bits() - 0x3f00_0000) as u16;
    }
    let rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

/// Exact.
#[must_use]
pub fn f32_from_f16(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(half >> 10 & 0x1f), u32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => return f32::from_bits(sign | (fraction as f32 * 2f32.powi(-24)).to_bits()),
        31 => 0x7f80_0000 | fraction << 13,
        _ => (exponent + 112) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back() {
        for half in 0..=u16::MAX {
            let single = f32_from_f16(half);
            if single.is_nan() {
                assert!(f32_from_f16(f16_from_f32(single)).is_nan());
            } else {
                assert_eq!(f16_from_f32(single), half, "{single}");
            }
        }
    }

    #[test]
    fn between_two_halves_the_nearest_is_taken() {
        for half in 0..0x7bff_u16 {
            let (low, high) = (f32_from_f16(half), f32_from_f16(half + 1));
            let middle = low + (high - low) / 2.0;
            let even = if half % 2 == 0 { half } else { half + 1 };
            assert_eq!(f16_from_f32(middle), even, "{middle}");
            assert_eq!(f16_from_f32(f32::from_bits(middle.to_bits() - 1)), half);
            assert_eq!(f16_from_f32(f32::from_bits(middle.to_bits() + 1)), half + 1);
            assert_eq!(f16_from_f32(-middle), even | 0x8000);
        }
        assert_eq!(
            (f16_from_f32(65519.9), f16_from_f32(65520.0), f16_from_f32(f32::MAX)),
            (0x7bff, 0x7c00, 0x7c00)
        );
    }
}
