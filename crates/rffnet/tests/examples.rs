//! The examples a user would copy, run.
#![allow(missing_docs)]

#[path = "../examples/own_loss.rs"]
mod own_loss;
#[path = "../examples/own_rows.rs"]
mod own_rows;
#[path = "../examples/which_columns.rs"]
mod which_columns;

#[test]
fn examples_run() {
    which_columns::main().expect("which_columns");
    own_loss::main().expect("own_loss");
    own_rows::main().expect("own_rows");
}
