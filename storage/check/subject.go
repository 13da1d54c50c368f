package check

// A Subject is how the rows of one room are checked. It holds the state of one check.
type Subject struct {
	Tables []Table
	Meta   []MetaRow
	Begin  func()       // after the meta rows were read, before all other rows; nil: nothing to do
	End    func() error // after all rows; nil: nothing to do. It compares sums
}

// A Table says how the rows of one table are checked. Rows of tables that no subject has are faults.
type Table struct {
	Table byte
	Name  string

	// Begin prepares the check of one part of the table's rows, which come in the order of keys.
	// Several parts are checked at once.
	Begin func() (Part, error)
	Rows  func(*Report) *uint64 // where they are counted; nil: nowhere
	Edge  bool                  // the store of an edge may have such rows
}

// A Part checks some rows of a table. An error ends the check: it means that rows cannot be read, which is
// not a fault of any row.
type Part interface {
	Row(key, value []byte) error
	End() error
}

// A MetaRow is a row of the meta table. Rows that no subject has are faults.
type MetaRow struct {
	Name     byte
	What     string
	Required bool
	Read     func(value []byte) error // an error is a fault
}

// Alone returns what begins parts of which each row is checked alone. fault returns what is wrong with a row.
func (c *Run) Alone(table string, fault func(key, value []byte) error) func() (Part, error) {
	return func() (Part, error) { return alone{c, table, fault}, nil }
}

type alone struct {
	c     *Run
	table string
	fault func(key, value []byte) error
}

func (p alone) Row(key, value []byte) error {
	if err := p.fault(key, value); err != nil {
		p.c.Fault(Where(p.table, key), "%v", err)
	}
	return nil
}

func (alone) End() error { return nil }

// Each returns what begins parts whose rows are passed to row, and whose end is nothing.
func Each(row func(key, value []byte) error) func() (Part, error) {
	return func() (Part, error) { return each(row), nil }
}

type each func(key, value []byte) error

func (e each) Row(key, value []byte) error { return e(key, value) }

func (each) End() error { return nil }
