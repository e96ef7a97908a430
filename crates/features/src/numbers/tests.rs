use super::*;

#[test]
fn numbers_in_digits() {
    for (text, expected) in [
        ("", &[][..]),
        ("no numbers", &[]),
        ("a1b22c", &["1", "22"]),
        ("007 and 0", &["7", "0"]),
        ("1,000", &["1000"]),
        ("1,000.50 EUR, 1.000,50 EUR", &["1000.50", "1000.50"]),
        ("1,000,000 1.000.000", &["1000000", "1000000"]),
        ("3.14 3,14 0.5 0,500", &["3.14", "3.14", "0.5", "0.500"]),
        ("3.10 3.1", &["3.10", "3.1"]),
        ("9.300", &["9.300"]),
        ("23.11.2026 1.2.3 1,2,3", &["23", "11", "2026", "1", "2", "3", "1", "2", "3"]),
        ("1,000,00 1000,000", &["1", "0", "0", "1000.000"]),
        ("2:0", &["2", "0"]),
        ("-5 +5", &["5", "5"]),
        ("１２３ ٣٤ ३४ ١٬٢٣٤٫٥", &["123", "34", "34", "1234.5"]),
        ("ends 5. 6, and", &["5", "6"]),
        ("3万 1.5亿 1.50亿 2千万 1.23456万", &["30000", "150000000", "150000000", "20000000", "12345.6"]),
        ("已致26人遇难", &["26"]),
        ("5十", &["5"]),
    ] {
        assert_eq!(sequence(text), expected, "{text}");
    }
}

#[test]
fn numbers_in_chinese() {
    for (text, expected) in [
        ("二十三", &["23"][..]),
        ("十五 十万", &["15", "100000"]),
        ("一百零五 三百五 两万五", &["105", "350", "25000"]),
        ("二〇二四年 二零二四", &["2024", "2024"]),
        ("两千 兩千", &["2000", "2000"]),
        ("一千零一夜", &["1001"]),
        ("三億五千萬零二十", &["350000020"]),
        ("三万亿", &["3000000000000"]),
        ("三点五 零点二五 十二点五", &["3.5", "0.25", "12.5"]),
        ("八点二十五分", &["8", "25"]),
        ("百分之五 三分之一", &["5", "3", "1"]),
        ("第三 第一百二十条 星期二", &["3", "120", "2"]),
        ("三人 五人 十一月一日 两个", &["3", "5", "11", "1", "2"]),
        ("伍佰元 壹万贰仟叁佰元", &["500", "12300"]),
        ("一些 万一 统一 一般 十分 千万 三国 一一 三三两两 一个 成千上万 陆地 大陆陆军", &[]),
        ("百度 千克 万人 亿万 五花八门 不三不四 四川 三亚 两岸 一五一十", &[]),
        ("一二三四五", &["12345"]),
    ] {
        assert_eq!(sequence(text), expected, "{text}");
    }
    assert_eq!(sequence(&"九".repeat(65)), [""; 0]);
}

#[test]
fn digests_are_of_the_order() {
    for (a, b) in [
        ("2:0", "0:2"),
        ("693、653话", "653、693话"),
        ("1000", "10000"),
        ("", "0"),
        ("1 2", "12"),
        ("12 3", "1 23"),
        ("已致2人遇难", "26人遇难"),
        ("1234567890123", "1234567890124"),
    ] {
        assert_ne!(digest(a), digest(b), "{a} | {b}");
    }
    for (a, b) in [("1,000", "1000"), ("二十三", "23"), ("none", ""), ("Ａ１", "1 b"), ("３万", "三万")]
    {
        assert_eq!(digest(a), digest(b), "{a} | {b}");
    }
    assert_eq!([digest(""), digest("0"), digest("1"), digest("3.5"), digest("1 22 333 1234567890")], GOLDEN);
}

/// Stored signatures hold such digests: a change here is a new version of the recipe.
const GOLDEN: [u32; 5] = [0, 2_125_294_661, 3_919_730_550, 220_819_431, 387_026_118];

proptest::proptest! {
    /// [`Digest::read`], with its short ways, digests the numbers of [`sequence`].
    #[test]
    fn the_short_ways_lead_to_the_same(text in "[0-9,.٣ ٬٫零一二两三十百千万亿第个月点年a陆]{0,12}") {
        let mut digest = Digest::default();
        let normal_form = normal_form(&text);
        let mut end = 0;
        for (at, c) in normal_form.char_indices() {
            if at >= end && (is_digit(c) || is_numeral(c)) {
                end = digest.read(&normal_form, at);
            }
        }
        let mut expected = Digest::default();
        sequence(&text).iter().for_each(|number| expected.push(number));
        proptest::prop_assert_eq!(digest.get(), expected.get());
    }
}
