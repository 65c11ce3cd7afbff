"""A process with Channelz on: three servers (TCP, TLS, Unix socket), a client of each, and a client of a target that fails.

It prints its addresses as one line of JSON, and ends with its standard input.

Debian packages grpcio without grpcio-channelz, whose service converts the JSON of gRPC's core to messages. The class below
does the same, with messages made from the descriptors of the schema.
"""

import json
import os
import sys
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc._cython import cygrpc

folder, certificates, descriptors = sys.argv[1:4]
OK_CALLS = 3
OPTIONS = [("grpc.enable_channelz", 1), ("grpc.max_channel_trace_event_memory_per_node", 4096)]


def read(name):
    with open(os.path.join(certificates, name), "rb") as file:
        return file.read()


def message_classes(path):
    """A function from the name of a message to its class."""
    pool = descriptor_pool.DescriptorPool()
    with open(path, "rb") as file:
        for each in descriptor_pb2.FileDescriptorSet.FromString(file.read()).file:
            pool.Add(each)
    factory = message_factory.MessageFactory(pool)
    return lambda name: factory.GetPrototype(pool.FindMessageTypeByName(f"rpc.channelz.v1.{name}"))


message_class = message_classes(descriptors)


class Channelz(grpc.GenericRpcHandler):
    """The service of grpcio-channelz 1.51: each method parses the JSON that the core returns."""

    READS = {
        "GetTopChannels": lambda r: cygrpc.channelz_get_top_channels(r.start_channel_id),
        "GetServers": lambda r: cygrpc.channelz_get_servers(r.start_server_id),
        "GetServer": lambda r: cygrpc.channelz_get_server(r.server_id),
        "GetServerSockets": lambda r: cygrpc.channelz_get_server_sockets(
            r.server_id, r.start_socket_id, r.max_results
        ),
        "GetChannel": lambda r: cygrpc.channelz_get_channel(r.channel_id),
        "GetSubchannel": lambda r: cygrpc.channelz_get_subchannel(r.subchannel_id),
        "GetSocket": lambda r: cygrpc.channelz_get_socket(r.socket_id),
    }
    LISTS = ("GetTopChannels", "GetServers")

    def service(self, details):
        service, _, method = details.method[1:].partition("/")
        if service != "grpc.channelz.v1.Channelz" or method not in self.READS:
            return None
        request_class = message_class(f"{method}Request")
        response_class = message_class(f"{method}Response")

        def respond(request, context):
            try:
                return json_format.Parse(self.READS[method](request), response_class())
            except ValueError as error:
                unknown = method not in self.LISTS
                context.set_code(grpc.StatusCode.NOT_FOUND if unknown else grpc.StatusCode.INTERNAL)
                context.set_details(str(error))
            except json_format.ParseError as error:
                context.set_code(grpc.StatusCode.INTERNAL)
                context.set_details(str(error))
            return response_class()

        return grpc.unary_unary_rpc_method_handler(
            respond,
            request_deserializer=request_class.FromString,
            response_serializer=response_class.SerializeToString,
        )


class Echo(grpc.GenericRpcHandler):
    """Echoes bytes; an empty request is NOT_FOUND, and a stream never ends of itself."""

    def service(self, details):
        if details.method == "/wirescope.peers.Echo/Echo":
            return grpc.unary_unary_rpc_method_handler(self.echo)
        if details.method == "/wirescope.peers.Echo/Watch":
            return grpc.stream_stream_rpc_method_handler(self.watch)
        return None

    def echo(self, request, context):
        if not request:
            context.abort(grpc.StatusCode.NOT_FOUND, "nothing to echo")
        return request

    def watch(self, requests, _context):
        yield from requests


def serve(address, credentials=None):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=OPTIONS)
    server.add_generic_rpc_handlers((Echo(), Channelz()))
    port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
    server.start()
    return server, address if address.startswith("unix:") else f"127.0.0.1:{port}"


def call(channel):
    """Three calls that succeed, one that fails with NOT_FOUND, and one that the client cancels."""
    echo = channel.unary_unary("/wirescope.peers.Echo/Echo")
    for _ in range(OK_CALLS):
        echo(b"hello", wait_for_ready=True, timeout=60)
    expect(lambda: echo(b"", timeout=60), grpc.StatusCode.NOT_FOUND)

    ended = futures.Future()

    def requests():
        yield b"hello"
        ended.result()

    stream = channel.stream_stream("/wirescope.peers.Echo/Watch")(requests())
    next(stream)
    stream.cancel()
    ended.set_result(None)
    expect(lambda: next(stream), grpc.StatusCode.CANCELLED)


def expect(attempt, code):
    try:
        attempt()
    except grpc.RpcError as error:
        if error.code() == code:
            return
        raise
    raise SystemExit(f"expected {code}")


server_tls = grpc.ssl_server_credentials([(read("server-key.pem"), read("server.pem"))])
client_tls = grpc.ssl_channel_credentials(read("ca.pem"))
named = OPTIONS + [("grpc.ssl_target_name_override", "localhost")]

tcp_server, tcp = serve("127.0.0.1:0")
tls_server, tls = serve("127.0.0.1:0", server_tls)
unix_server, unix = serve(f"unix:{folder}/python.sock")
failing = "127.0.0.1:1"
channels = [
    grpc.insecure_channel(tcp, OPTIONS),
    grpc.secure_channel(tls, client_tls, named),
    grpc.insecure_channel(unix, OPTIONS),
    grpc.insecure_channel(failing, OPTIONS),
]
for channel in channels[:3]:
    call(channel)
expect(lambda: channels[3].unary_unary("/wirescope.peers.Echo/Echo")(b"hello"), grpc.StatusCode.UNAVAILABLE)

print(json.dumps({"tcp": tcp, "tls": tls, "unix": unix, "failing": failing}), flush=True)
sys.stdin.read()
os._exit(0)
