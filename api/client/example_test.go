package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"shunt/api/client"
)

func Example() {
	c, err := client.New("https://sho.rt", os.Getenv("SHUNT_TOKEN"), nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	link, err := c.Shorten(ctx, client.Draft{URL: "https://example.org/spring", Alias: "spring", Tags: []string{"campaign"}})
	switch {
	case errors.Is(err, client.ErrAliasTaken):
		log.Fatal("somebody else has it")
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println(link.ShortURL)
}

// The last link of a list is followed by its end, or by an error.
func ExampleClient_Links() {
	var ctx context.Context
	var c *client.Client

	for link, err := range c.Links(ctx, client.LinksQuery{Tag: "campaign"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(link.Code, link.Hits)
	}
}

// An edit that is made only if nobody else has edited the link meanwhile.
func ExampleClient_Update() {
	var ctx context.Context
	var c *client.Client

	link, err := c.Link(ctx, "spring")
	if err != nil {
		log.Fatal(err)
	}
	edit := client.Edit{Title: client.Set("Spring " + link.Title), ExpiresAt: client.Reset[time.Time]()}
	_, err = c.Update(ctx, "spring", edit, client.IfVersion(link.Version))
	if errors.Is(err, client.ErrPreconditionFailed) {
		log.Fatal("somebody was faster; look again")
	}
}

// What was wrong with each field.
func ExampleProblem() {
	var err error

	var problem *client.Problem
	if errors.As(err, &problem) {
		for _, field := range problem.Errors {
			fmt.Println(field.Field, field.Code)
		}
	}
}
