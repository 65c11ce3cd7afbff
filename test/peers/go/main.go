// A process with Channelz on: three servers (TCP, TLS, Unix socket), a client of each, and a client of a target that fails.
// It prints its addresses as one line of JSON, and ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const okCalls = 3

func main() {
	folder, certificates := os.Args[1], os.Args[2]
	file := func(name string) string { return filepath.Join(certificates, name) }
	serverTLS, err := credentials.NewServerTLSFromFile(file("server.pem"), file("server-key.pem"))
	must(err)
	clientTLS, err := credentials.NewClientTLSFromFile(file("ca.pem"), "localhost")
	must(err)

	tcp := serve("tcp", "127.0.0.1:0")
	tls := serve("tcp", "127.0.0.1:0", grpc.Creds(serverTLS))
	unix := serve("unix", filepath.Join(folder, "go.sock"))
	addresses := map[string]string{"tcp": tcp, "tls": tls, "unix": "unix:" + unix, "failing": "127.0.0.1:1"}

	call(dial(addresses["tcp"], grpc.WithInsecure()))
	call(dial(addresses["tls"], grpc.WithTransportCredentials(clientTLS)))
	call(dial(addresses["unix"], grpc.WithInsecure()))
	failing := healthpb.NewHealthClient(dial(addresses["failing"], grpc.WithInsecure()))
	_, err = failing.Check(context.Background(), &healthpb.HealthCheckRequest{})
	expect(err, codes.Unavailable)

	must(json.NewEncoder(os.Stdout).Encode(addresses))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func serve(network, address string, options ...grpc.ServerOption) string {
	listener, err := net.Listen(network, address)
	must(err)
	server := grpc.NewServer(options...)
	healthpb.RegisterHealthServer(server, health.NewServer())
	service.RegisterChannelzServiceToServer(server)
	go func() { must(server.Serve(listener)) }()
	return listener.Addr().String()
}

func dial(target string, options ...grpc.DialOption) *grpc.ClientConn {
	connection, err := grpc.Dial(target, options...)
	must(err)
	return connection
}

// Three calls that succeed, one that fails with NOT_FOUND, and one that the client cancels.
func call(connection *grpc.ClientConn) {
	client := healthpb.NewHealthClient(connection)
	for i := 0; i < okCalls; i++ {
		_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
		must(err)
	}
	_, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{Service: "none"})
	expect(err, codes.NotFound)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{})
	must(err)
	_, err = stream.Recv()
	must(err)
	cancel()
	_, err = stream.Recv()
	expect(err, codes.Canceled)
}

func expect(err error, code codes.Code) {
	if status.Code(err) != code {
		must(fmt.Errorf("expected %v, got %v", code, err))
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
