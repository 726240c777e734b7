"""What tests share: rewards and rows to draw, oracles, servers and disks of their own, programs to run and kill."""
