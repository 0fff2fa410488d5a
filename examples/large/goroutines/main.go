// Goroutines that lose updates: each sleeps between its look at the balance and its change of it. All of
// them run in one worker, so that Go's own scheduler decides who is next, always in the same way.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var mutex sync.Mutex
	var group sync.WaitGroup
	balance := 0
	seen := make(chan int, 4)
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			mutex.Lock()
			before := balance
			mutex.Unlock()
			time.Sleep(time.Millisecond)
			mutex.Lock()
			balance = before + 1
			mutex.Unlock()
			seen <- before
		}()
	}
	group.Wait()
	close(seen)
	for before := range seen {
		fmt.Println("saw", before)
	}
	fmt.Println("balance", balance)
}
