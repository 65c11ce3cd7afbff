import type { Any } from "@bufbuild/protobuf/wkt";
import { type ChannelzPackage, channelzPackages } from "../channelz-package.js";
import type {
  Address,
  GetSocketResponse,
  Security,
  Socket,
  SocketData,
  SocketOption,
} from "../gen/rpc/channelz/v1/channelz_pb.js";

/**
 * The response with the payloads of its `Any` fields named after the served package. Only sockets have such fields; any other
 * response, and one whose payloads already have the right names, is returned as it is. The source's message is never changed.
 */
export function nameAnyPayloads<T extends { readonly $typeName: string }>(
  message: T,
  channelzPackage: ChannelzPackage,
): T {
  return isGetSocketResponse(message) ? nameInResponse(message, channelzPackage) : message;
}

function isGetSocketResponse<T extends { readonly $typeName: string }>(message: T): message is T & GetSocketResponse {
  return message.$typeName === ("rpc.channelz.v1.GetSocketResponse" satisfies GetSocketResponse["$typeName"]);
}

function nameInResponse<T extends GetSocketResponse>(response: T, to: ChannelzPackage): T {
  const socket = response.socket && nameInSocket(response.socket, to);
  return socket === undefined || socket === response.socket ? response : { ...response, socket };
}

function nameInSocket(socket: Socket, to: ChannelzPackage): Socket {
  const data = socket.data && nameInData(socket.data, to);
  const local = socket.local && nameInAddress(socket.local, to);
  const remote = socket.remote && nameInAddress(socket.remote, to);
  const security = socket.security && nameInSecurity(socket.security, to);
  const isSame =
    data === socket.data && local === socket.local && remote === socket.remote && security === socket.security;
  if (isSame) return socket;
  return {
    ...socket,
    ...(data && { data }),
    ...(local && { local }),
    ...(remote && { remote }),
    ...(security && { security }),
  };
}

function nameInData(data: SocketData, to: ChannelzPackage): SocketData {
  const option = data.option.map((one) => nameInOption(one, to));
  return option.every((one, index) => one === data.option[index]) ? data : { ...data, option };
}

function nameInOption(option: SocketOption, to: ChannelzPackage): SocketOption {
  const additional = option.additional && nameAny(option.additional, to);
  return additional === undefined || additional === option.additional ? option : { ...option, additional };
}

function nameInAddress(address: Address, to: ChannelzPackage): Address {
  if (address.address.case !== "otherAddress") return address;
  const other = address.address.value;
  const value = other.value && nameAny(other.value, to);
  if (value === undefined || value === other.value) return address;
  return { ...address, address: { case: "otherAddress", value: { ...other, value } } };
}

function nameInSecurity(security: Security, to: ChannelzPackage): Security {
  if (security.model.case !== "other") return security;
  const other = security.model.value;
  const value = other.value && nameAny(other.value, to);
  if (value === undefined || value === other.value) return security;
  return { ...security, model: { case: "other", value: { ...other, value } } };
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
