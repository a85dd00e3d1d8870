//! The same table, or the same sentence, for every size of chunk and any number of threads.

use proptest::prelude::*;

use super::*;

fn outcome(text: &[u8], size: usize, target: Option<&str>) -> String {
    let options =
        ReadOptions { missing: true, target: target.map(ColumnRef::from), ..ReadOptions::default() };
    let mut collector = Collector::new(&options);
    let read = read_in_chunks(Input::new(text, "t.csv"), &mut collector, size);
    match read.and_then(|()| collector.finish()) {
        Ok(table) => format!("{table:?}"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn same_for_all_sizes(text: &[u8], target: Option<&str>) {
    let expected = outcome(text, CHUNK, target);
    for size in [1, 2, 3, 5, 8, 13, 31, 100, 1000] {
        assert_eq!(
            outcome(text, size, target),
            expected,
            "chunks of {size} of {:?}",
            String::from_utf8_lossy(text)
        );
    }
}

#[test]
fn chunks_make_no_difference() {
    for text in [
        "a,b,y\n1,x,2\n3,\"y\nz\",4\n\n# note\n5,,6\n7,x,8\n",
        "a,b,y\n1,x,no\n3,y,yes\nNA,x,no\n",
        "a\tb\ty\r\n1\t2\t3\r\n4\t5\t6\r\n",
        "a\rb\ry\r",
        "y a b\n1  2 3\n4\t5 6\n",
        "a,y\n1.5,2\n2.5,3\nx,4\n5.5,6\n",
        "a,y\n1,2\n3\n5,6\n",
        "a,y\n1,2\n3,\"4\n5,6\n",
        "a,y\n1,2\n3,4\"4\n5,6\n",
        "a,y\n1,2\n3,4\n5,6,7\n",
    ] {
        same_for_all_sizes(text.as_bytes(), Some("y"));
        same_for_all_sizes(text.as_bytes(), None);
    }
    same_for_all_sizes(b"a,y\n1,2\n\xFF,4\n5\n", None);
    same_for_all_sizes(b"a,y\n1,2\n3,4,5\n\xFF,4\n", None);
    same_for_all_sizes(b"a,y\n1,2\n3,\0\n", None);
}

#[test]
fn threads_make_no_difference() {
    let rows: String = (0..5000)
        .map(|i| format!("{},t{},{}\n", i % 17, i % 90, if i % 7 == 0 { "NA" } else { "b" }))
        .collect();
    let text = format!("a,b,c\n{rows}");
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| outcome(text.as_bytes(), 500, None))
    };
    assert_eq!(with(1), with(3));
    assert_eq!(with(1), outcome(text.as_bytes(), CHUNK, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn any_text(text in "[ab1.5,;\"\\n#\\-? ]{0,60}", size in 1..20_usize) {
        let named = format!("u,v,w\n{text}");
        for text in [&text, &named] {
            prop_assert_eq!(outcome(text.as_bytes(), size, None), outcome(text.as_bytes(), CHUNK, None), "{:?}", text);
        }
    }
}
