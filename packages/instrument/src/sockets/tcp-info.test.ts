import { fromBinary } from "@bufbuild/protobuf";
import { SocketOptionTcpInfoSchema } from "@wirescope/channelz/client";
import { expect, test } from "vitest";
import { parseTcpInfo, tcpInfoSize } from "./tcp-info.js";

test("[CZ-SCHEMA-19] reads each of the 29 fields from its own offset in the struct", () => {
  const struct = Buffer.alloc(tcpInfoSize);
  for (let index = 0; index < 6; index += 1) struct.writeUInt8(index + 1, index);
  struct.writeUInt8(0x87, 6);
  for (let word = 0; word < 21; word += 1) struct.writeUInt32LE(word + 9, 8 + 4 * word);
  const { additional } = parseTcpInfo(struct);
  const info = fromBinary(SocketOptionTcpInfoSchema, additional?.value ?? new Uint8Array());
  const inOrder = SocketOptionTcpInfoSchema.fields.map(({ localName }) => info[localName as keyof typeof info]);
  expect(inOrder).toEqual(Array.from({ length: 29 }, (_, index) => index + 1));
});

test("shows a value of all 32 bits unchanged", () => {
  const { additional } = parseTcpInfo(Buffer.alloc(tcpInfoSize, 0xff));
  const info = fromBinary(SocketOptionTcpInfoSchema, additional?.value ?? new Uint8Array());
  expect(info).toMatchObject({ tcpiState: 255, tcpiSndWscale: 15, tcpiRcvWscale: 15, tcpiReordering: 0xffff_ffff });
});
