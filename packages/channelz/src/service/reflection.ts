import { create, type DescFile, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import {
  file_grpc_reflection_v1_reflection,
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../gen/grpc/reflection/v1/reflection_pb.js";
import { renamePackage, renameService } from "../schema.js";

const v1alpha = "grpc.reflection.v1alpha";

const reflectionFiles: readonly DescFile[] = [
  file_grpc_reflection_v1_reflection,
  renamePackage(file_grpc_reflection_v1_reflection, v1alpha),
];

/** Options of the reflection service. */
export interface ReflectionOptions {
  /** Ends open streams, so that a server can stop. Default: only clients end them. */
  readonly signal?: AbortSignal;
}

/**
 * Serves `grpc.reflection.v1` and `v1alpha` for `files`, their dependencies and reflection itself, so that generic tools need no
 * proto file. The services of `files` and reflection are listed; those of dependencies are not.
 */
export function reflectionRoutes(
  files: readonly DescFile[],
  options: ReflectionOptions = {},
): (router: ConnectRouter) => void {
  const index = indexFiles([...files, ...reflectionFiles]);
  const implementation = {
    async *serverReflectionInfo(
      requests: AsyncIterable<ServerReflectionRequest>,
    ): AsyncGenerator<ServerReflectionResponse> {
      for await (const request of until(requests, options.signal)) yield reflect(index, request);
    },
  };
  return (router) => {
    router.service(ServerReflection, implementation);
    router.service(renameService(ServerReflection, v1alpha), implementation);
  };
}

async function* until<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  if (signal === undefined) return yield* items;
  const iterator = items[Symbol.asyncIterator]();
  let stop = (): void => {};
  const stopped = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
  });
  signal.addEventListener("abort", stop);
  try {
    while (!signal.aborted) {
      const next = await Promise.race([iterator.next(), stopped]);
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

type Result = ServerReflectionResponse["messageResponse"];

function reflect(index: FileIndex, request: ServerReflectionRequest): ServerReflectionResponse {
  return create(ServerReflectionResponseSchema, {
    validHost: request.host,
    originalRequest: request,
    messageResponse: respond(index, request.messageRequest),
  });
}

function respond(index: FileIndex, request: ServerReflectionRequest["messageRequest"]): Result {
  switch (request.case) {
    case "listServices":
      return responseOf("listServicesResponse", { service: index.services.map((name) => ({ name })) });
    case "fileByFilename":
      return respondWithFile(index.byName.get(request.value), `the file ${request.value}`);
    case "fileContainingSymbol":
      return respondWithFile(index.bySymbol.get(request.value), `the symbol ${request.value}`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = request.value;
      const file = index.extensions.get(containingType)?.get(extensionNumber);
      return respondWithFile(file, `an extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType": {
      const file = index.bySymbol.get(request.value);
      if (file === undefined) return notFound(`the type ${request.value}`);
      const extensionNumber = [...(index.extensions.get(request.value)?.keys() ?? [])];
      return responseOf("allExtensionNumbersResponse", { baseTypeName: request.value, extensionNumber });
    }
    case undefined:
      return responseOf("errorResponse", {
        errorCode: Code.InvalidArgument,
        errorMessage: "The request is empty. Set one of the fields of message_request.",
      });
  }
}

function respondWithFile(file: DescFile | undefined, what: string): Result {
  if (file === undefined) return notFound(what);
  return responseOf("fileDescriptorResponse", {
    fileDescriptorProto: withDependencies([file]).map((one) => toBinary(FileDescriptorProtoSchema, one.proto)),
  });
}

function notFound(what: string): Result {
  return responseOf("errorResponse", { errorCode: Code.NotFound, errorMessage: `This server does not know ${what}.` });
}

type MessageInit = NonNullable<
  NonNullable<Parameters<typeof create<typeof ServerReflectionResponseSchema>>[1]>["messageResponse"]
>;

function responseOf<C extends MessageInit["case"]>(
  name: C,
  value: Extract<MessageInit, { case?: C }>["value"],
): Result {
  const init = { case: name, value } as MessageInit;
  return create(ServerReflectionResponseSchema, { messageResponse: init }).messageResponse;
}

interface FileIndex {
  readonly services: readonly string[];
  readonly byName: ReadonlyMap<string, DescFile>;
  readonly bySymbol: ReadonlyMap<string, DescFile>;
  readonly extensions: ReadonlyMap<string, ReadonlyMap<number, DescFile>>;
}

function indexFiles(roots: readonly DescFile[]): FileIndex {
  const byName = new Map<string, DescFile>();
  const bySymbol = new Map<string, DescFile>();
  const extensions = new Map<string, Map<number, DescFile>>();
  for (const file of withDependencies(roots)) {
    byName.set(file.proto.name, file);
    for (const symbol of symbolsOf(file)) bySymbol.set(symbol, file);
    for (const extension of [...file.extensions, ...file.messages.flatMap(extensionsWithin)]) {
      bySymbol.set(extension.typeName, file);
      const numbers = extensions.get(extension.extendee.typeName) ?? new Map<number, DescFile>();
      extensions.set(extension.extendee.typeName, numbers.set(extension.number, file));
    }
  }
  const services = new Set(roots.flatMap((file) => file.services.map((service) => service.typeName)));
  return { services: [...services].sort(), byName, bySymbol, extensions };
}

/** The files and everything they import, each once, with the given files first. */
function withDependencies(roots: readonly DescFile[]): DescFile[] {
  const found = new Map<string, DescFile>();
  const pending = [...roots];
  for (let file = pending.shift(); file; file = pending.shift()) {
    if (found.has(file.proto.name)) continue;
    found.set(file.proto.name, file);
    pending.push(...file.dependencies);
  }
  return [...found.values()];
}

function* symbolsOf(file: DescFile): Generator<string> {
  for (const service of file.services) {
    yield service.typeName;
    for (const method of service.methods) yield `${service.typeName}.${method.name}`;
  }
  for (const message of file.messages) yield* symbolsWithin(message);
  for (const enumeration of file.enums) yield* symbolsOfEnum(enumeration);
}

function* symbolsWithin(message: DescMessage): Generator<string> {
  yield message.typeName;
  for (const field of message.fields) yield `${message.typeName}.${field.name}`;
  for (const oneof of message.oneofs) yield `${message.typeName}.${oneof.name}`;
  for (const nested of message.nestedMessages) yield* symbolsWithin(nested);
  for (const enumeration of message.nestedEnums) yield* symbolsOfEnum(enumeration);
}

/** The values of an enum are siblings of the enum, not its children. */
function* symbolsOfEnum(enumeration: DescMessage["nestedEnums"][number]): Generator<string> {
  yield enumeration.typeName;
  const scope = enumeration.typeName.slice(0, enumeration.typeName.lastIndexOf(".") + 1);
  for (const value of enumeration.values) yield scope + value.name;
}

function extensionsWithin(message: DescMessage): DescMessage["nestedExtensions"] {
  return [...message.nestedExtensions, ...message.nestedMessages.flatMap(extensionsWithin)];
}
