import {
  clone,
  createFileRegistry,
  createRegistry,
  type DescFile,
  type DescService,
  type Registry,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { ChannelzPackage } from "./channelz-package.js";
import { Channelz, file_rpc_channelz_v1_channelz } from "./gen/rpc/channelz/v1/channelz_pb.js";

/**
 * The same file under another package name: renames its path, its package and every reference within it. Two packages that are
 * identical on the wire so need only one schema.
 */
export function renamePackage(file: DescFile, to: string): DescFile {
  const from = file.proto.package;
  const proto = clone(FileDescriptorProtoSchema, file.proto);
  const rename = (typeName: string): string =>
    typeName.startsWith(`.${from}.`) ? `.${to}.${typeName.slice(from.length + 2)}` : typeName;
  const messages = [...proto.messageType];
  for (let message = messages.pop(); message; message = messages.pop()) {
    messages.push(...message.nestedType);
    for (const field of message.field) field.typeName = rename(field.typeName);
  }
  for (const service of proto.service) {
    for (const method of service.method) {
      method.inputType = rename(method.inputType);
      method.outputType = rename(method.outputType);
    }
  }
  proto.package = to;
  proto.name = proto.name.replace(from.replaceAll(".", "/"), to.replaceAll(".", "/"));
  const renamed = createFileRegistry(proto, (name) => file.dependencies.find((d) => d.proto.name === name)).getFile(
    proto.name,
  );
  if (renamed === undefined) throw new TypeError(`The schema ${file.proto.name} cannot be renamed to ${to}.`);
  return renamed;
}

/** The same service under another package name. Requests and responses keep their types. */
export function renameService<T extends DescService>(service: T, packageName: string): T {
  const renamed = { ...service, typeName: `${packageName}.${service.name}` };
  const methods = service.methods.map((method) => ({ ...method, parent: renamed }));
  const method = Object.fromEntries(methods.map((m) => [m.localName, m]));
  return Object.assign(renamed, { methods, method });
}

const files: Record<ChannelzPackage, DescFile> = {
  "rpc.channelz.v1": file_rpc_channelz_v1_channelz,
  "grpc.channelz.v1": renamePackage(file_rpc_channelz_v1_channelz, "grpc.channelz.v1"),
};

const services: Record<ChannelzPackage, typeof Channelz> = {
  "rpc.channelz.v1": Channelz,
  "grpc.channelz.v1": renameService(Channelz, "grpc.channelz.v1"),
};

/** The complete Channelz schema under a package name, for reflection. */
export function channelzFile(channelzPackage: ChannelzPackage): DescFile {
  return files[channelzPackage];
}

/** The service under a package name. Its messages are those of `rpc.channelz.v1`, which are the same on the wire. */
export function channelzService(channelzPackage: ChannelzPackage): typeof Channelz {
  return services[channelzPackage];
}

/** The types of `Any` payloads in both packages, for JSON. */
export const payloadRegistry: Registry = createRegistry(...Object.values(files));
