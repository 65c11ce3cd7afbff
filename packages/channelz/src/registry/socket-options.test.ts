import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  SocketOptionLingerSchema,
  SocketOptionTcpInfoSchema,
  SocketOptionTimeoutSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { lingerOption, type TcpInfo, tcpInfoOption, timeoutOption } from "./socket-options.js";

describe("socket options", () => {
  test.each([0, 1, 999.5, 1500, 60_000, 2 ** 40])(
    "[CZ-OPT-3] encodes a timeout of %d ms as the schema defines it",
    (ms) => {
      const { value, additional } = timeoutOption("SO_RCVTIMEO", ms);
      const read = fromBinary(SocketOptionTimeoutSchema, additional!.value);
      expect(Number(read.duration!.seconds) * 1000 + read.duration!.nanos / 1e6).toBe(ms);
      expect(toBinary(SocketOptionTimeoutSchema, read)).toEqual(additional!.value);
      expect(value).toBe(`${ms} ms`);
    },
  );

  test.each([true, false])("[CZ-OPT-3] encodes linger with active: %s as the schema defines it", (active) => {
    const { additional } = lingerOption(active, 2500);
    const read = fromBinary(SocketOptionLingerSchema, additional!.value);
    expect(read).toMatchObject({ active, duration: { seconds: 2n, nanos: 500_000_000 } });
  });

  test("[CZ-OPT-3] uses the field numbers of the schema for every field of TCP_INFO", () => {
    const { fields } = SocketOptionTcpInfoSchema;
    const info = Object.fromEntries(fields.map(({ localName, number }) => [localName, 2 ** 32 - number])) as TcpInfo;
    const read = fromBinary(SocketOptionTcpInfoSchema, tcpInfoOption(info).additional!.value);
    expect(read).toMatchObject(info);
    expect(read.$unknown).toBeUndefined();
    expect(tcpInfoOption({}).additional!.value).toHaveLength(0);
  });
});
