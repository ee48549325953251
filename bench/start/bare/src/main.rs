fn main() {
    println!("bare 0.1.0");
}
