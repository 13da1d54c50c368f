package etcdlog

func child(string) {}
