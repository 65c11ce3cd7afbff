import { once } from "node:events";
import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import type { Server, Socket } from "node:net";
import { create, createFileRegistry } from "@bufbuild/protobuf";
import type { GenService } from "@bufbuild/protobuf/codegenv2";
import {
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_wrappers,
  MethodOptions_IdempotencyLevel,
  type StringValueSchema,
} from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Registry } from "@wirescope/channelz";
import { onTestFinished } from "vitest";
import { observeHttpServer } from "../http/observe-server.js";
import { observeHttp2Server } from "../http2/observe-server.js";
import { portOf, serverIdentity } from "../sockets/connections.test.helper.js";

type Text = typeof StringValueSchema;

/** A service with a method of each kind. The request text says how the call ends. */
export const Echo: GenService<{
  unary: { methodKind: "unary"; input: Text; output: Text };
  serverStream: { methodKind: "server_streaming"; input: Text; output: Text };
  clientStream: { methodKind: "client_streaming"; input: Text; output: Text };
  bidi: { methodKind: "bidi_streaming"; input: Text; output: Text };
  missing: { methodKind: "unary"; input: Text; output: Text };
  /** Has no side effects, so Connect may use GET. */
  look: { methodKind: "unary"; input: Text; output: Text };
}> = echoService();

function echoService(): typeof Echo {
  const text = ".google.protobuf.StringValue";
  const method = (name: string, clientStreaming: boolean, serverStreaming: boolean, options = {}): object => {
    return { name, inputType: text, outputType: text, clientStreaming, serverStreaming, options };
  };
  const { NO_SIDE_EFFECTS: idempotencyLevel } = MethodOptions_IdempotencyLevel;
  const file: FileDescriptorProto = create(FileDescriptorProtoSchema, {
    name: "test/echo.proto",
    package: "test",
    syntax: "proto3",
    dependency: ["google/protobuf/wrappers.proto"],
    service: [
      {
        name: "Echo",
        method: [
          method("Unary", false, false),
          method("ServerStream", false, true),
          method("ClientStream", true, false),
          method("Bidi", true, true),
          method("Missing", false, false),
          method("Look", false, false, { idempotencyLevel }),
        ],
      },
    ],
  });
  const files = create(FileDescriptorSetSchema, { file: [file_google_protobuf_wrappers.proto, file] });
  return createFileRegistry(files).getService("test.Echo") as typeof Echo;
}

async function* say(text: string, context: HandlerContext): AsyncGenerator<{ value: string }> {
  const [what, count = "0"] = text.split(" ");
  for (let i = 0; i < Number(count); i += 1) yield { value: `${i}` };
  if (what === "fail") throw new ConnectError("as requested", Code.FailedPrecondition);
  if (what !== "hang") return;
  if (!context.signal.aborted) await once(context.signal, "abort");
  throw context.signal.reason;
}

async function echo({ value }: { readonly value: string }, context: HandlerContext): Promise<{ value: string }> {
  for await (const _ of say(value, context));
  return { value };
}

const implementation: Partial<ServiceImpl<typeof Echo>> = {
  unary: echo,
  look: echo,
  serverStream: ({ value }, context) => say(value, context),
  async clientStream(requests, context) {
    const values: string[] = [];
    for await (const { value } of requests) {
      values.push(value);
      for await (const _ of say(value, context));
    }
    return { value: values.join() };
  },
  async *bidi(requests, context) {
    for await (const { value } of requests) {
      yield { value };
      for await (const _ of say(value, context));
    }
  },
};

export type HttpVersion = "1.1" | "2";

export interface EchoServer {
  readonly server: Server;
  readonly baseUrl: string;
  /** Destroys every connection. */
  cut(): void;
}

export interface EchoServerOptions {
  readonly httpVersion: HttpVersion;
  readonly isSecure?: boolean;
  readonly path?: string;
  /** The registry in which the server is shown. Default: none. */
  readonly registry?: Registry;
}

/** Serves the service until the test ends. */
export async function serveEcho({ httpVersion, isSecure, path, registry }: EchoServerOptions): Promise<EchoServer> {
  const handler = connectNodeAdapter({ routes: (router) => void router.service(Echo, implementation) });
  let server: Server;
  if (httpVersion === "2") {
    const http2 = isSecure ? createSecureServer(serverIdentity, handler) : createHttp2Server(handler);
    if (registry !== undefined) observeHttp2Server(registry, http2 as Http2Server | Http2SecureServer);
    server = http2;
  } else {
    const http = isSecure ? createHttpsServer(serverIdentity, handler) : createHttpServer(handler);
    if (registry !== undefined) observeHttpServer(registry, http as HttpServer);
    server = http;
  }
  const accepted = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    accepted.add(socket);
    socket.on("close", () => accepted.delete(socket));
  });
  const cut = (): void => {
    for (const socket of accepted) socket.destroy();
  };
  server.listen(path === undefined ? { host: "127.0.0.1", port: 0 } : { path });
  await once(server, "listening");
  onTestFinished(async () => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  });
  const host = path === undefined ? `127.0.0.1:${portOf(server)}` : "localhost";
  return { server, baseUrl: `http${isSecure ? "s" : ""}://${host}`, cut };
}
