module example.com/wanderer

go 1.19
