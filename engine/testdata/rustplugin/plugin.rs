// A foreign plugin in Rust, on Extism's own protocol, without any crate.
#![no_std]

#[link(wasm_import_module = "extism:host/env")]
extern "C" {
    fn input_length() -> u64;
    fn input_load_u8(at: u64) -> u32;
    fn alloc(n: u64) -> u64;
    fn store_u8(at: u64, byte: u32);
    fn output_set(at: u64, n: u64);
    fn error_set(at: u64);
}

#[panic_handler]
fn fallen(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

fn give(text: &[u8]) -> u64 {
    unsafe {
        let at = alloc(text.len() as u64);
        for (i, byte) in text.iter().enumerate() {
            store_u8(at + i as u64, *byte as u32);
        }
        at
    }
}

#[no_mangle]
pub extern "C" fn upper() -> i32 {
    unsafe {
        let n = input_length();
        let out = alloc(n);
        for i in 0..n {
            store_u8(out + i, (input_load_u8(i) as u8).to_ascii_uppercase() as u32);
        }
        output_set(out, n);
    }
    0
}

// count gives how many words the input has.
#[no_mangle]
pub extern "C" fn count() -> i32 {
    let (mut words, mut inside) = (0u32, false);
    unsafe {
        for i in 0..input_length() {
            let space = (input_load_u8(i) as u8).is_ascii_whitespace();
            if !space && !inside {
                words += 1;
            }
            inside = !space;
        }
        let (mut digits, mut at) = ([0u8; 10], 10);
        loop {
            at -= 1;
            digits[at] = b'0' + (words % 10) as u8;
            words /= 10;
            if words == 0 {
                break;
            }
        }
        output_set(give(&digits[at..]), (10 - at) as u64);
    }
    0
}

#[no_mangle]
pub extern "C" fn fail() -> i32 {
    unsafe { error_set(give(b"the plugin says no")) };
    1
}

#[no_mangle]
pub extern "C" fn spin() -> i32 {
    let mut n = 0u32;
    loop {
        n = n.wrapping_add(1);
        unsafe { core::ptr::read_volatile(&n) };
    }
}

#[no_mangle]
pub extern "C" fn hoard() -> i32 {
    loop {
        if core::arch::wasm32::memory_grow(0, 16) == usize::MAX {
            return 7;
        }
    }
}

#[no_mangle]
pub extern "C" fn trap() -> i32 {
    panic!()
}
