import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createFileRegistry,
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescService,
  fromBinary,
  type Message,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { nestedTypes, reflect } from "@bufbuild/protobuf/reflect";
import { Edition, FileDescriptorSetSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { loadSync, type MessageTypeDefinition } from "@grpc/proto-loader";
import { describe, expect, test } from "vitest";
import { channelzPackages } from "./channelz-package.js";
import { channelzFile, channelzService } from "./schema.js";

/** Messages, enums and services by name within their package, each as the lines of `schema-table.txt`. */
type SchemaTable = Map<string, string[]>;

const specification = parseTable(readFileSync(new URL("./schema-table.txt", import.meta.url), "utf8"));
const protoRoot = fileURLToPath(new URL("../../../proto", import.meta.url));
const require = createRequire(import.meta.url);
const buf = join(dirname(require.resolve("@bufbuild/buf/package.json")), "bin", "buf");
const grpcProtoRoot = join(dirname(require.resolve("@grpc/grpc-js/package.json")), "proto");
const grpcFile = buildFile(grpcProtoRoot, "channelz.proto");

describe.each(channelzPackages)("the schema of %s", (channelzPackage) => {
  const schema = tableOf(channelzFile(channelzPackage));
  const expectAsSpecified = (...names: string[]): void => {
    for (const name of names) {
      expect(specification.get(name), `${name} in the specification`).toBeDefined();
      expect(schema.get(name), name).toEqual(specification.get(name));
    }
  };

  test("[CZ-SCHEMA-1] [CZ-VER-1] defines a proto3 file in the versioned package, with the service Channelz", () => {
    const file = channelzFile(channelzPackage);
    expect(file.edition).toBe(Edition.EDITION_PROTO3);
    expect(file.proto.package).toBe(channelzPackage);
    expect(channelzPackage).toMatch(/\.v1$/);
    expect(file.services.map((service) => service.typeName)).toEqual([`${channelzPackage}.Channelz`]);
    expect(channelzService(channelzPackage).typeName).toBe(`${channelzPackage}.Channelz`);
  });

  test("[CZ-SCHEMA-2] defines the seven unary methods", () => {
    expectAsSpecified("Channelz");
    const { methods } = channelzService(channelzPackage);
    expect(methods.map((method) => method.methodKind)).toEqual(Array(7).fill("unary"));
  });

  test("[CZ-OP-10] defines no HTTP verbs and no path templates: the only option of a method is its idempotency", () => {
    for (const { name, proto } of channelzService(channelzPackage).methods) {
      const options = reflect(MethodOptionsSchema, proto.options);
      const set = options.fields.filter((field) => options.isSet(field)).map((field) => field.name);
      expect(set, name).toEqual(["idempotency_level"]);
      // An HTTP rule is an extension, which a reader that does not know it keeps as an unknown field.
      expect(options.message.$unknown, name).toBeUndefined();
    }
  });

  test("[CZ-D-VER-5] deprecates no type, field, value or method", () => {
    const file = channelzFile(channelzPackage);
    const types = [...nestedTypes(file)];
    const described: { readonly deprecated: boolean }[] = [
      ...types,
      ...types.flatMap((type) => (type.kind === "message" ? type.fields : [])),
      ...types.flatMap((type) => (type.kind === "enum" ? type.values : [])),
      ...types.flatMap((type) => (type.kind === "service" ? type.methods : [])),
    ];
    expect(described.length).toBeGreaterThan(175);
    expect(described.filter(({ deprecated }) => deprecated).map(String)).toEqual([]);
  });

  test("[CZ-SCHEMA-3] [CZ-SCHEMA-4] defines the four refs, each with the tags of the others reserved", () => {
    expectAsSpecified("ChannelRef", "SubchannelRef", "SocketRef", "ServerRef");
  });

  test("[CZ-SCHEMA-5] [CZ-SCHEMA-6] [CZ-SCHEMA-8] defines channels, subchannels and their data", () => {
    expectAsSpecified("Channel", "Subchannel", "ChannelData");
  });

  test("[CZ-SCHEMA-7] defines the connectivity states as specified", () => {
    expectAsSpecified("ChannelConnectivityState", "ChannelConnectivityState.State");
  });

  test("[CZ-SCHEMA-9] [CZ-SCHEMA-10] defines traces, their events and severities", () => {
    expectAsSpecified("ChannelTrace", "ChannelTraceEvent", "ChannelTraceEvent.Severity");
  });

  test("[CZ-SCHEMA-11] [CZ-SCHEMA-12] defines servers and their data", () => {
    expectAsSpecified("Server", "ServerData");
  });

  test("[CZ-SCHEMA-13] [CZ-SCHEMA-14] defines sockets and their data", () => {
    expectAsSpecified("Socket", "SocketData");
  });

  test("[CZ-SCHEMA-15] defines addresses of every kind", () => {
    expectAsSpecified("Address", "Address.TcpIpAddress", "Address.UdsAddress", "Address.OtherAddress");
  });

  test("[CZ-SCHEMA-16] defines TLS and other security", () => {
    expectAsSpecified("Security", "Security.Tls", "Security.OtherSecurity");
  });

  test("[CZ-SCHEMA-17] [CZ-SCHEMA-18] [CZ-SCHEMA-19] defines socket options and their payloads", () => {
    expectAsSpecified("SocketOption", "SocketOptionTimeout", "SocketOptionLinger", "SocketOptionTcpInfo");
  });

  test("[CZ-SCHEMA-20] [CZ-SCHEMA-21] defines a request and a response for each method", () => {
    const methods = channelzFile(channelzPackage).services[0]?.methods ?? [];
    expectAsSpecified(...methods.flatMap(({ name }) => [`${name}Request`, `${name}Response`]));
  });

  test("[CZ-SCHEMA-22] [CZ-D-VER-4] defines everything of the first release and nothing else", () => {
    expect(Object.fromEntries(schema)).toEqual(Object.fromEntries(specification));
  });

  test("[CZ-D-VER-1] equals grpc.channelz.v1 as grpc-js ships it, except for the package", () => {
    expect(Object.fromEntries(schema)).toEqual(Object.fromEntries(tableOf(grpcFile)));
  });

  test("[CZ-D-VER-1] encodes every message with every field set into the same bytes as grpc-js", () => {
    const grpc = loadSync("channelz.proto", { includeDirs: [grpcProtoRoot], keepCase: true, longs: String });
    for (const desc of channelzFile(channelzPackage).messages) {
      const peer = grpc[`grpc.channelz.v1.${desc.name}`] as MessageTypeDefinition<object, object>;
      const examples = filledExamples(desc);
      expect(desc.fields.filter((field) => !examples.some((example) => reflect(desc, example).isSet(field)))).toEqual(
        [],
      );
      for (const example of examples) {
        const ours = toBinary(desc, example);
        expect(Buffer.from(ours).toString("hex"), desc.typeName).toBe(
          peer.serialize(plainObject(desc, example)).toString("hex"),
        );
      }
    }
  });
});

test("[CZ-VER-2] does not compile if the schema uses a reserved tag", () => {
  const directory = mkdtempSync(join(tmpdir(), "reserved-tag-"));
  try {
    const path = "rpc/channelz/v1/channelz.proto";
    const text = readFileSync(join(protoRoot, path), "utf8");
    const broken = text.replace("message ChannelRef {", "message ChannelRef {\n  string other_name = 3;");
    expect(broken).not.toBe(text);
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), broken);
    const { status, stderr } = spawnSync(process.execPath, [buf, "build", directory], { encoding: "utf8" });
    expect(status).not.toBe(0);
    expect(stderr).toContain("use of reserved field number `3`");
  } finally {
    rmSync(directory, { recursive: true });
  }
});

function parseTable(text: string): SchemaTable {
  const table: SchemaTable = new Map();
  for (const block of text.split("\n\n")) {
    const [name = "", ...lines] = block.trim().split("\n");
    if (!name.startsWith("#"))
      table.set(
        name,
        lines.map((line) => line.trim()),
      );
  }
  return table;
}

function tableOf(file: DescFile): SchemaTable {
  const local = (typeName: string): string => typeName.replace(`${file.proto.package}.`, "");
  const table: SchemaTable = new Map();
  const addEnum = (desc: DescEnum): void => {
    table.set(
      local(desc.typeName),
      desc.values.map(({ number, name }) => `${number} = ${name}`),
    );
  };
  const addMessage = (desc: DescMessage): void => {
    const fields = desc.fields.toSorted((a, b) => a.number - b.number).map((field) => fieldLine(field, local));
    const reserved = desc.proto.reservedRange
      .flatMap(({ start, end }) => Array.from({ length: end - start }, (_, index) => start + index))
      .sort((a, b) => a - b);
    table.set(local(desc.typeName), reserved.length > 0 ? [...fields, `reserved ${reserved.join(" ")}`] : fields);
    desc.nestedMessages.forEach(addMessage);
    desc.nestedEnums.forEach(addEnum);
  };
  const addService = (desc: DescService): void => {
    const line = ({ name, input, output }: DescService["methods"][number]): string =>
      `${name} ${local(input.typeName)} ${local(output.typeName)}`;
    table.set(local(desc.typeName), desc.methods.map(line));
  };
  file.messages.forEach(addMessage);
  file.enums.forEach(addEnum);
  file.services.forEach(addService);
  return table;
}

function fieldLine(field: DescField, local: (typeName: string) => string): string {
  const repeated = field.fieldKind === "list" ? "repeated " : "";
  const oneof = field.oneof === undefined ? "" : `${field.oneof.name}.`;
  return `${field.number} ${repeated}${oneof}${field.name} ${typeOf(field, local)}`;
}

function typeOf(field: DescField, local: (typeName: string) => string): string {
  if (field.message) return local(field.message.typeName);
  if (field.enum) return local(field.enum.typeName);
  if (field.scalar === undefined) throw new TypeError(`${field} is of a kind that the specification does not have.`);
  return ScalarType[field.scalar].toLowerCase();
}

function buildFile(directory: string, path: string): DescFile {
  const args = [buf, "build", directory, "--path", join(directory, path), "--output", "-"];
  const set = fromBinary(FileDescriptorSetSchema, execFileSync(process.execPath, args));
  const file = createFileRegistry(set).getFile(path);
  if (file === undefined) throw new Error(`buf built no ${path}`);
  return file;
}

/** Messages that between them set every field, and every member of every one-of, of a message and all below it. */
function filledExamples(desc: DescMessage): Message[] {
  const variants = Math.max(1, ...reachable(desc).flatMap(({ oneofs }) => oneofs.map(({ fields }) => fields.length)));
  return Array.from({ length: variants }, (_, variant) => filled(desc, variant));
}

function reachable(desc: DescMessage, seen: Set<DescMessage> = new Set()): DescMessage[] {
  if (!seen.has(desc)) {
    seen.add(desc);
    for (const { message } of desc.fields) if (message) reachable(message, seen);
  }
  return [...seen];
}

function filled(desc: DescMessage, variant: number): Message {
  const message = reflect(desc);
  for (const field of desc.fields) {
    const { oneof } = field;
    if (oneof !== undefined && oneof.fields[variant % oneof.fields.length] !== field) continue;
    if (field.fieldKind === "list") {
      for (const offset of [0, 1]) message.get(field).add(valueFor(field, variant + offset));
    } else {
      message.set(field, valueFor(field, variant));
    }
  }
  return message.message;
}

function valueFor(field: DescField, variant: number): unknown {
  if (field.message) return reflect(field.message, filled(field.message, variant));
  if (field.enum) return field.enum.values.at(-1 - variant)?.number;
  switch (field.scalar) {
    case ScalarType.STRING:
      return `${field.name} é ${variant}`;
    case ScalarType.BYTES:
      return Uint8Array.of(0, 127, 255, variant);
    case ScalarType.BOOL:
      return true;
    // The largest values, and for a port the -1 that takes ten bytes.
    case ScalarType.INT64:
      return 2n ** 63n - 1n - BigInt(variant);
    case ScalarType.UINT32:
      return 2 ** 32 - 1 - variant;
    default:
      return -1 - variant;
  }
}

/** The same message as protobufjs takes it: proto names, int64 as text. */
function plainObject(desc: DescMessage, message: Message): object {
  const reflected = reflect(desc, message);
  const plain = (value: unknown, field: DescField): unknown => {
    if (field.message) return plainObject(field.message, (value as { message: Message }).message);
    return typeof value === "bigint" ? String(value) : value;
  };
  return Object.fromEntries(
    desc.fields
      .filter((field) => reflected.isSet(field))
      .map((field) => {
        const value: unknown = reflected.get(field);
        return [
          field.name,
          field.fieldKind === "list"
            ? [...(value as Iterable<unknown>)].map((item) => plain(item, field))
            : plain(value, field),
        ];
      }),
  );
}
