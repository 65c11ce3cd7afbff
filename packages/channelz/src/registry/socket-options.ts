import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  SocketOptionLingerSchema,
  SocketOptionTcpInfoSchema,
  SocketOptionTimeoutSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { SocketOptionInit } from "./socket-details.js";

/** A receive or send time-out (`SO_RCVTIMEO`, `SO_SNDTIMEO`). 0 is no time-out. */
export function timeoutOption(name: string, milliseconds: number): SocketOptionInit {
  const payload = create(SocketOptionTimeoutSchema, { duration: duration(milliseconds) });
  return {
    name,
    value: `${milliseconds} ms`,
    additional: { type: "SocketOptionTimeout", value: toBinary(SocketOptionTimeoutSchema, payload) },
  };
}

/** `SO_LINGER`. */
export function lingerOption(active: boolean, milliseconds: number): SocketOptionInit {
  const payload = create(SocketOptionLingerSchema, { active, duration: duration(milliseconds) });
  return {
    name: "SO_LINGER",
    value: active ? `${milliseconds} ms` : "off",
    additional: { type: "SocketOptionLinger", value: toBinary(SocketOptionLingerSchema, payload) },
  };
}

/** `TCP_INFO`. */
export function tcpInfoOption(info: MessageInitShape<typeof SocketOptionTcpInfoSchema>): SocketOptionInit {
  const payload = create(SocketOptionTcpInfoSchema, info);
  return {
    name: "TCP_INFO",
    additional: { type: "SocketOptionTcpInfo", value: toBinary(SocketOptionTcpInfoSchema, payload) },
  };
}

function duration(milliseconds: number): { seconds: bigint; nanos: number } {
  const seconds = Math.trunc(milliseconds / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((milliseconds - seconds * 1000) * 1e6) };
}
