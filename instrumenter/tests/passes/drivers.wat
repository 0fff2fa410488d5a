;; Where tokio wakes and turns its driver of sockets, in a build without inlining: all wakes are known.
(module
  (memory 1)
  (func $_ZN5tokio7runtime2io6driver6Driver4turn17h0123456789abcdefE (export "turn"))
  (func $_ZN5tokio7runtime6driver6Handle6unpark17h0123456789abcdefE (param i32)
    local.get 0
    call $_ZN5tokio7runtime6driver8IoHandle6unpark17h0123456789abcdefE)
  (func $_ZN5tokio7runtime6driver8IoHandle6unpark17h0123456789abcdefE (param i32))
  (func $_ZN5tokio7runtime9scheduler12multi_thread4park8Unparker6unpark17h0123456789abcdefE (export "wake")
    i32.const 8
    call $_ZN5tokio7runtime6driver6Handle6unpark17h0123456789abcdefE))
