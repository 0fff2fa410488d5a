;; The same where both functions that wake are left, but one was inlined into the other, and so perhaps elsewhere: not all
;; wakes are known, and callers count as well.
(module
  (memory 1)
  (func $_ZN5tokio7runtime2io6driver6Driver4turn17h0123456789abcdefE (export "turn"))
  (func $_ZN5tokio7runtime6driver6Handle6unpark17h0123456789abcdefE (export "used") (param i32))
  (func $_ZN5tokio7runtime6driver8IoHandle6unpark17h0123456789abcdefE (export "also_used") (param i32))
  (func $_ZN5tokio7runtime9scheduler12multi_thread4park8Unparker6unpark17h0123456789abcdefE (export "wake")))
