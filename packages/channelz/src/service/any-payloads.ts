import { isMessage, type Message } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import { type ChannelzPackage, channelzPackages } from "../channelz-package.js";
import { GetSocketResponseSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";

/**
 * The response with the payloads of its `Any` fields named after the served package. Only sockets have such fields; any other
 * response, and one whose payloads already have the right names, is returned as it is. The source's message is never changed.
 */
export function nameAnyPayloads<T extends Message>(message: T, channelzPackage: ChannelzPackage): T {
  return isMessage(message, GetSocketResponseSchema) ? nameWithin(message, channelzPackage) : message;
}

/** The value with the payloads within it renamed; the same value if nothing changes. */
function nameWithin<T>(value: T, to: ChannelzPackage): T;
function nameWithin(value: unknown, to: ChannelzPackage): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (isMessage(value, AnySchema)) return nameAny(value, to);
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => nameWithin(item, to));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const changes = Object.entries(value).flatMap(([key, before]: [string, unknown]) => {
    const after = nameWithin(before, to);
    return after === before ? [] : [[key, after]];
  });
  return changes.length === 0 ? value : { ...value, ...Object.fromEntries(changes) };
}

function nameAny(any: Any, to: ChannelzPackage): Any {
  const start = any.typeUrl.lastIndexOf("/") + 1;
  for (const from of channelzPackages) {
    if (from !== to && any.typeUrl.startsWith(`${from}.`, start)) {
      return { ...any, typeUrl: any.typeUrl.slice(0, start) + to + any.typeUrl.slice(start + from.length) };
    }
  }
  return any;
}
