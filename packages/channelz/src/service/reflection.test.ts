import { create, createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_descriptor,
} from "@bufbuild/protobuf/wkt";
import { Code, createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from "../gen/grpc/reflection/v1/reflection_pb.js";
import { channelzFile, renameService } from "../schema.js";
import { reflectionRoutes } from "./reflection.js";

const files = [channelzFile("rpc.channelz.v1"), channelzFile("grpc.channelz.v1"), file_google_protobuf_descriptor];

async function ask(
  messageRequest: ServerReflectionRequest["messageRequest"],
  service: typeof ServerReflection = ServerReflection,
): Promise<ServerReflectionResponse["messageResponse"]> {
  const client = createClient(service, createRouterTransport(reflectionRoutes(files)));
  async function* requests() {
    yield { messageRequest };
  }
  for await (const { messageResponse } of client.serverReflectionInfo(requests())) return messageResponse;
  throw new Error("no response");
}

const filesOf = (response: ServerReflectionResponse["messageResponse"]) =>
  response.case === "fileDescriptorResponse"
    ? response.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
    : [];

test.each([
  ["v1", ServerReflection],
  ["v1alpha", renameService(ServerReflection, "grpc.reflection.v1alpha")],
] as const)("[CZ-D-TOOLS-1] lists both packages and reflection itself for %s", async (_, service) => {
  const response = await ask({ case: "listServices", value: "" }, service);
  expect(response.value).toMatchObject({
    service: [
      { name: "grpc.channelz.v1.Channelz" },
      { name: "grpc.reflection.v1.ServerReflection" },
      { name: "grpc.reflection.v1alpha.ServerReflection" },
      { name: "rpc.channelz.v1.Channelz" },
    ],
  });
});

test.each([
  "rpc.channelz.v1.Channelz",
  "rpc.channelz.v1.Channelz.GetSocket",
  "rpc.channelz.v1.Socket",
  "rpc.channelz.v1.Address.TcpIpAddress",
  "rpc.channelz.v1.Address.address",
  "rpc.channelz.v1.Socket.remote_name",
  "rpc.channelz.v1.ChannelConnectivityState.State",
  "rpc.channelz.v1.ChannelConnectivityState.READY",
])("finds the symbol %s in the file that defines it", async (symbol) => {
  const [file] = filesOf(await ask({ case: "fileContainingSymbol", value: symbol }));
  expect(file?.name).toBe("rpc/channelz/v1/channelz.proto");
});

test("returns a file with all of its imports, so that a schema can be built from one response", async () => {
  const response = await ask({ case: "fileByFilename", value: "grpc/channelz/v1/channelz.proto" });
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: filesOf(response).reverse() }));
  expect(registry.getService("grpc.channelz.v1.Channelz")?.methods).toHaveLength(7);
});

test.each([
  { case: "fileByFilename", value: "no/such.proto" },
  { case: "fileContainingSymbol", value: "no.Such" },
  { case: "allExtensionNumbersOfType", value: "no.Such" },
  {
    case: "fileContainingExtension",
    value: {
      $typeName: "grpc.reflection.v1.ExtensionRequest",
      containingType: "rpc.channelz.v1.Socket",
      extensionNumber: 9,
    },
  },
] as const)("returns NOT_FOUND for an unknown $case", async (request) => {
  expect(await ask(request)).toMatchObject({ case: "errorResponse", value: { errorCode: Code.NotFound } });
});

test("returns no extension numbers for a type without extensions, and INVALID_ARGUMENT for an empty request", async () => {
  expect(await ask({ case: "allExtensionNumbersOfType", value: "rpc.channelz.v1.Socket" })).toMatchObject({
    case: "allExtensionNumbersResponse",
    value: { baseTypeName: "rpc.channelz.v1.Socket", extensionNumber: [] },
  });
  expect(await ask({ case: undefined })).toMatchObject({ value: { errorCode: Code.InvalidArgument } });
});

test("ends a stream that a caller keeps open when the server stops", async () => {
  const stopping = new AbortController();
  const client = createClient(
    ServerReflection,
    createRouterTransport(reflectionRoutes(files, { signal: stopping.signal })),
  );
  async function* requests() {
    yield { messageRequest: { case: "listServices", value: "" } as const };
    await new Promise(() => {});
  }
  let responses = 0;
  for await (const _ of client.serverReflectionInfo(requests())) {
    responses++;
    stopping.abort();
  }
  expect(responses).toBe(1);
});
