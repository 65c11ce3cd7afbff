import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import {
  type ChannelCredentials,
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

/** A response as grpc-js and its proto-loader return it: names as in the schema, numbers as strings. */
// biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of it
export type GrpcJsResponse = Record<string, any>;

type Call = (
  request: object,
  metadata: Metadata,
  done: (error: ServiceError | null, response?: GrpcJsResponse) => void,
) => void;
type ChannelzClient = new (address: string, using: ChannelCredentials) => Client & Record<string, Call>;

const definition = loadSync(createRequire(import.meta.url).resolve("@grpc/grpc-js/proto/channelz.proto"), {
  keepCase: true,
  longs: String,
  enums: String,
  defaults: false,
  oneofs: true,
  includeDirs: [`${fileURLToPath(new URL(".", import.meta.resolve("@grpc/grpc-js/package.json")))}proto`],
});

const { Channelz } = (
  loadPackageDefinition(definition) as unknown as { grpc: { channelz: { v1: { Channelz: ChannelzClient } } } }
).grpc.channelz.v1;

/** Reads a Channelz service with the grpc-js client and its own schema. */
export async function readWithGrpcJs(
  address: string,
  method: string,
  request: object = {},
  token?: string,
  using: ChannelCredentials = credentials.createInsecure(),
): Promise<GrpcJsResponse> {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  const client = new Channelz(address, using);
  try {
    return await new Promise((resolve, reject) => {
      client[method]?.(request, metadata, (error, response) => (error ? reject(error) : resolve(response ?? {})));
    });
  } finally {
    client.close();
  }
}
