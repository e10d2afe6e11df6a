//! How the program is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    // What follows is known to work there: by default, Rust links with its own LLD.
    if (target("ARCH"), target("OS"), target("ENV")) != ("x86_64".into(), "linux".into(), "gnu".into()) {
        return;
    }
    // At a fixed address: forty thousand pointers need not be adapted, and their pages not be copied, whenever a process
    // starts. Heap, stacks and libraries still lie elsewhere each time. See docs/decisions/0020.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    // Functions whose code is equal are kept once.
    println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
}
