// A process with Channelz on: three servers (TCP, TLS, Unix socket), a client of each, and a client of a target that fails.
// It prints its addresses as one line of JSON, and ends with its standard input.
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int kOkCalls = 3;

[[noreturn]] void Fail(const std::string& reason) {
  std::cerr << reason << std::endl;
  std::_Exit(1);
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::unique_ptr<grpc::Server>> servers;

std::string Serve(const std::string& address, const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  int port = 0;
  grpc::ServerBuilder builder;
  // Channelz traces and counters of an object exist only with these arguments.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 4096);
  builder.AddListeningPort(address, credentials, &port);
  servers.push_back(builder.BuildAndStart());
  if (servers.back() == nullptr) Fail("cannot listen on " + address);
  return address.rfind("unix:", 0) == 0 ? address : "127.0.0.1:" + std::to_string(port);
}

std::shared_ptr<grpc::Channel> Dial(const std::string& target,
                                    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 1);
  arguments.SetInt(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 4096);
  if (target.rfind("unix:", 0) != 0) arguments.SetSslTargetNameOverride("localhost");
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

// HealthCheckRequest { service }.
grpc::ByteBuffer Request(const std::string& service) {
  std::string bytes;
  if (!service.empty()) bytes = std::string("\x0a", 1) + static_cast<char>(service.size()) + service;
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

void Await(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  if (!queue->Next(&tag, &ok)) Fail("the queue ended");
}

grpc::Status Check(grpc::GenericStub* stub, const std::string& service, bool wait_for_ready) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_wait_for_ready(wait_for_ready);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub->PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", Request(service), &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  Await(&queue);
  return status;
}

grpc::Status WatchAndCancel(grpc::GenericStub* stub) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub->PrepareCall(&context, "/grpc.health.v1.Health/Watch", &queue);
  call->StartCall(nullptr);
  Await(&queue);
  call->WriteLast(Request(""), grpc::WriteOptions(), nullptr);
  Await(&queue);
  call->Read(&response, nullptr);
  Await(&queue);
  context.TryCancel();
  call->Finish(&status, nullptr);
  Await(&queue);
  return status;
}

void Expect(const grpc::Status& status, grpc::StatusCode code) {
  if (status.error_code() != code) Fail("unexpected status: " + status.error_message());
}

// Three calls that succeed, one that fails with NOT_FOUND, and one that the client cancels.
void Call(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  for (int i = 0; i < kOkCalls; i++) Expect(Check(&stub, "", true), grpc::StatusCode::OK);
  Expect(Check(&stub, "none", false), grpc::StatusCode::NOT_FOUND);
  Expect(WatchAndCancel(&stub), grpc::StatusCode::CANCELLED);
}

}  // namespace

int main(int, char** argv) {
  const std::string folder = argv[1];
  const std::string certificates = argv[2];
  grpc::EnableDefaultHealthCheckService(true);
  grpc::channelz::experimental::InitChannelzService();

  grpc::SslServerCredentialsOptions server_options;
  server_options.pem_key_cert_pairs.push_back(
      {Read(certificates + "/server-key.pem"), Read(certificates + "/server.pem")});
  grpc::SslCredentialsOptions client_options;
  client_options.pem_root_certs = Read(certificates + "/ca.pem");

  const std::string tcp = Serve("127.0.0.1:0", grpc::InsecureServerCredentials());
  const std::string tls = Serve("127.0.0.1:0", grpc::SslServerCredentials(server_options));
  const std::string unix_socket = Serve("unix:" + folder + "/cpp.sock", grpc::InsecureServerCredentials());

  std::vector<std::shared_ptr<grpc::Channel>> channels = {
      Dial(tcp, grpc::InsecureChannelCredentials()),
      Dial(tls, grpc::SslCredentials(client_options)),
      Dial(unix_socket, grpc::InsecureChannelCredentials()),
      Dial("127.0.0.1:1", grpc::InsecureChannelCredentials()),
  };
  for (int i = 0; i < 3; i++) Call(channels[i]);
  grpc::GenericStub failing(channels[3]);
  Expect(Check(&failing, "", false), grpc::StatusCode::UNAVAILABLE);

  std::cout << R"({"tcp":")" << tcp << R"(","tls":")" << tls << R"(","unix":")" << unix_socket
            << R"(","failing":"127.0.0.1:1"})" << std::endl;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  std::_Exit(0);
}
