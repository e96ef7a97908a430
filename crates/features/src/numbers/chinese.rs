//! Numbers in Chinese numerals.

use super::NUMERALS_MAX;
use super::decimal::without_zeros;

/// A numeral: a digit or a power of ten.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numeral {
    Digit(u8),
    /// `两`, which stands before units and words of measure alone.
    Pair,
    /// A digit as banks write it.
    Formal(u8),
    Unit(u8),
}

/// The meanings of characters in numbers, by code from [`FIRST`] on: one look-up each.
static MEANINGS: [u8; 0x7000] = meanings();
const FIRST: u32 = 0x3000;

/// Digits are 1 to 10, those of banks 0x10 and the digit, units 0x20 and the power of ten.
const PAIR: u8 = 0x0f;
const FORMAL: u8 = 0x10;
const UNIT: u8 = 0x20;
/// Words of measure of one character; `DATE` is for those that make a number of a 一 before them,
/// too.
const MEASURE: u8 = 0x40;
const DATE: u8 = 0x41;

const fn meanings() -> [u8; 0x7000] {
    const DIGITS: [char; 11] = ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九', '〇'];
    const FORMAL_DIGITS: [char; 9] = ['壹', '贰', '叁', '肆', '伍', '陆', '柒', '捌', '玖'];
    const UNITS: [(char, u8); 8] =
        [('十', 1), ('拾', 1), ('百', 2), ('佰', 2), ('千', 3), ('仟', 3), ('万', 4), ('亿', 8)];
    const MEASURES: [char; 58] = [
        '人', '个', '名', '位', '年', '岁', '天', '次', '元', '角', '块', '倍', '成', '家', '件', '种', '条',
        '章', '节', '款', '项', '届', '级', '点', '层', '楼', '只', '头', '辆', '台', '架', '艘', '座', '间',
        '套', '份', '张', '本', '册', '部', '批', '组', '队', '期', '卷', '页', '吨', '斤', '克', '米', '里',
        '尺', '寸', '亩', '秒', '季', '代', '场',
    ];
    const OTHERS: [char; 4] = ['局', '口', '户', '周'];
    const DATES: [char; 3] = ['月', '日', '号'];
    let mut of = [0; 0x7000];
    let mut i = 0;
    while i < MEASURES.len() {
        of[(MEASURES[i] as u32 - FIRST) as usize] = MEASURE;
        if i < OTHERS.len() {
            of[(OTHERS[i] as u32 - FIRST) as usize] = MEASURE;
        }
        if i < DATES.len() {
            of[(DATES[i] as u32 - FIRST) as usize] = DATE;
        }
        if i < DIGITS.len() {
            of[(DIGITS[i] as u32 - FIRST) as usize] = i as u8 % 10 + 1;
        }
        if i < FORMAL_DIGITS.len() {
            of[(FORMAL_DIGITS[i] as u32 - FIRST) as usize] = FORMAL + i as u8 + 1;
        }
        if i < UNITS.len() {
            of[(UNITS[i].0 as u32 - FIRST) as usize] = UNIT + UNITS[i].1;
        }
        i += 1;
    }
    of['两' as usize - FIRST as usize] = PAIR;
    of
}

#[inline]
fn meaning(c: char) -> u8 {
    MEANINGS.get(u32::from(c).wrapping_sub(FIRST) as usize).copied().unwrap_or(0)
}

#[inline]
fn numeral(c: char) -> Option<Numeral> {
    match meaning(c) {
        PAIR => Some(Numeral::Pair),
        digit @ 1..=10 => Some(Numeral::Digit(digit - 1)),
        digit @ 0x11..=0x19 => Some(Numeral::Formal(digit - FORMAL)),
        unit @ 0x21..=0x28 => Some(Numeral::Unit(unit - UNIT)),
        _ => None,
    }
}

/// Returns true if a number in Chinese numerals may begin with this character of a normal form.
pub(crate) fn is_numeral(c: char) -> bool {
    numeral(c).is_some()
}

/// The word for a decimal point.
pub(crate) const POINT: char = '点';

/// Returns true for the numerals, and for the characters of words beside them that are looked at.
pub(super) fn is_read(c: char) -> bool {
    meaning(c) != 0 || "第周分之星期礼拜点钟小时公里斤世纪平方".contains(c)
}

/// Returns the power of ten of the units at `at`, after digits, and their end. `十` is not read as a
/// unit here.
pub(super) fn units(text: &str, at: usize) -> (usize, usize) {
    let (mut exponent, mut end) = (0, at);
    for c in text[at..].chars().take(3) {
        match numeral(c) {
            Some(Numeral::Unit(power)) if power > 1 => exponent += usize::from(power),
            _ => break,
        }
        end += c.len_utf8();
    }
    (exponent, end)
}

/// Returns the end of a numeral that stands by itself and is no number, as most such numerals are;
/// `None` for all else.
pub(super) fn passes(text: &str, at: usize) -> Option<usize> {
    let mut chars = text[at..].chars();
    let only = chars.next()?;
    let end = at + only.len_utf8();
    let is_alone = chars.next().is_none_or(|next| next != POINT && !is_numeral(next));
    let value = match numeral(only)? {
        Numeral::Digit(value) | Numeral::Formal(value) => value.into(),
        Numeral::Pair => 2,
        Numeral::Unit(1) => 10,
        Numeral::Unit(_) => 0,
    };
    (is_alone && !is_number_alone(value, &text[..at], &text[end..])).then_some(end)
}

/// Returns true if its neighbours make a numeral by itself a number.
fn is_number_alone(value: u64, before: &str, after: &str) -> bool {
    value > 0 && (is_counted(before) || is_measured(after, value))
}

/// Hands the number in Chinese numerals that begins at `at` to `emit`, if the row is one. Returns
/// the end of the row.
pub(super) fn read(text: &str, at: usize, buffer: &mut String, emit: &mut impl FnMut(&str)) -> usize {
    let (mut row, mut n, mut end) = ([Numeral::Pair; NUMERALS_MAX], 0, at);
    for (c, numeral) in text[at..].chars().map_while(|c| Some((c, numeral(c)?))) {
        if n < NUMERALS_MAX {
            row[n] = numeral;
        }
        n += 1;
        end += c.len_utf8();
    }
    let Some(row) = row.get(..n) else { return end };
    buffer.clear();
    let (before, after) = (&text[..at], &text[end..]);
    if is_point(row, after) {
        // The row may be a single digit, as before no word of measure.
        if let Some(value) = value(row, true) {
            push_decimal(value, buffer);
            let fraction = after.chars().skip(1).map_while(|c| Some((c, numeral(c)?)));
            buffer.push('.');
            end += POINT.len_utf8();
            for (c, numeral) in fraction {
                let Numeral::Digit(digit) = numeral else { break };
                buffer.push(char::from(b'0' + digit));
                end += c.len_utf8();
            }
            emit(buffer);
            return end;
        }
    } else if let [only] = row {
        let is_number = |value: &u64| is_number_alone(*value, before, after);
        if let Some(value) = value(&[*only], true).filter(is_number) {
            push_decimal(value, buffer);
            emit(buffer);
        }
    } else if let Some(value) = value(row, false) {
        push_decimal(value, buffer);
        emit(buffer);
    } else if row.iter().all(|numeral| matches!(numeral, Numeral::Digit(_)))
        && *row != [Numeral::Digit(1), Numeral::Digit(1)]
    {
        buffer.extend(row.iter().map(|numeral| match numeral {
            Numeral::Digit(digit) => char::from(b'0' + digit),
            _ => '0',
        }));
        emit(without_zeros(buffer));
    }
    end
}

/// Powers of ten up to that of 亿.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

fn push_decimal(value: u64, out: &mut String) {
    let (mut digits, mut n, mut rest) = ([b'0'; 20], 0, value);
    while rest > 0 || n == 0 {
        digits[n] = b'0' + (rest % 10) as u8;
        (rest, n) = (rest / 10, n + 1);
    }
    out.extend(digits[..n].iter().rev().map(|&digit| char::from(digit)));
}

/// Returns true if a point and a fraction follow: `点`, and digits without a unit after them.
fn is_point(row: &[Numeral], after: &str) -> bool {
    let Some(fraction) = after.strip_prefix(POINT) else { return false };
    let mut numerals = fraction.chars().map_while(numeral).take(NUMERALS_MAX).peekable();
    let is_fraction = numerals.peek().is_some() && numerals.all(|n| matches!(n, Numeral::Digit(_)));
    is_fraction && !matches!(row.last(), None | Some(Numeral::Formal(_)))
}

/// Returns true if the word before a single numeral makes it a number.
fn is_counted(before: &str) -> bool {
    match before.chars().next_back() {
        Some('第' | '周') => true,
        Some('之') => before.ends_with("分之"),
        Some('期') => before.ends_with("星期"),
        Some('拜') => before.ends_with("礼拜"),
        _ => false,
    }
}

/// Returns true if the word after a single numeral makes it a number.
fn is_measured(after: &str, value: u64) -> bool {
    let Some(next) = after.chars().next() else { return false };
    match next {
        '分' => after.starts_with("分之") || value > 1 && after.starts_with("分钟"),
        '小' => value > 1 && after.starts_with("小时"),
        '公' => value > 1 && (after.starts_with("公里") || after.starts_with("公斤")),
        '世' => value > 1 && after.starts_with("世纪"),
        '平' => value > 1 && after.starts_with("平方"),
        _ => meaning(next) == DATE || value > 1 && meaning(next) == MEASURE,
    }
}

/// Returns the value of a row in the form of a spoken number: each unit smaller than the one
/// before, up to 万 and 亿, which begin anew. A row of digits alone has no value, but for a single
/// digit with `takes_single`.
fn value(row: &[Numeral], takes_single: bool) -> Option<u64> {
    let has_unit = row.iter().any(|numeral| matches!(numeral, Numeral::Unit(_)));
    if !has_unit && (!takes_single || row.len() > 1) {
        return None;
    }
    // The complete part; the parts before the next 亿 and before the next 万; and the last digit.
    let (mut total, mut of_yi, mut of_wan, mut digit) = (0_u64, 0_u64, 0_u64, None);
    // The next unit must be smaller than the unit before.
    let (mut power_before, mut unit_before, mut after_zero) = (4, 0, false);
    for (at, &numeral) in row.iter().enumerate() {
        match numeral {
            Numeral::Digit(0) => {
                if digit.is_some() {
                    return None;
                }
                after_zero = true;
            }
            Numeral::Digit(value) | Numeral::Formal(value) => {
                if digit.replace(u64::from(value)).is_some() {
                    return None;
                }
            }
            Numeral::Pair => {
                if digit.replace(2).is_some() {
                    return None;
                }
            }
            Numeral::Unit(power) if power < 4 => {
                // Only 十 goes without a digit, at the beginning of its part.
                let is_ten = power == 1 && (at == 0 || of_wan == 0 && digit.is_none());
                let factor = digit.take().or(is_ten.then_some(1))?;
                if power >= power_before {
                    return None;
                }
                of_wan += factor * POWERS[usize::from(power)];
                (power_before, unit_before, after_zero) = (power, power, false);
            }
            Numeral::Unit(power) => {
                of_wan += digit.take().unwrap_or(0);
                if power == 4 {
                    if of_wan == 0 || of_yi > 0 {
                        return None;
                    }
                    of_yi = of_wan * 10_000;
                } else {
                    if of_yi + of_wan == 0 || total > 0 {
                        return None;
                    }
                    (total, of_yi) = ((of_yi + of_wan) * 100_000_000, 0);
                }
                of_wan = 0;
                (power_before, unit_before, after_zero) = (4, power, false);
            }
        }
    }
    if let Some(digit) = digit {
        // 三百五 is 350, and 三百零五 is 305.
        let spoken = if !after_zero && unit_before >= 2 { unit_before - 1 } else { 0 };
        of_wan += digit * POWERS[usize::from(spoken)];
    }
    Some(total + of_yi + of_wan)
}
