import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type Address, AddressSchema } from "../gen/rpc/channelz/v1/channelz_pb.js";
import { formatAddress } from "./address.js";

const tcp = (ip: number[], port: number): Address =>
  create(AddressSchema, { address: { case: "tcpipAddress", value: { ipAddress: Uint8Array.from(ip), port } } });

test.each([
  [tcp([127, 0, 0, 1], 80), "127.0.0.1:80"],
  [tcp([...Array(15).fill(0), 1], 80), "[::1]:80"],
  [tcp([0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 5], 443), "[2001:db8::5]:443"],
  [tcp([...Array(10).fill(0), 255, 255, 10, 0, 0, 7], 1), "10.0.0.7:1"],
  [tcp([127, 0, 0, 1], -1), "127.0.0.1"],
  [tcp([...Array(15).fill(0), 1], -1), "::1"],
  [tcp([1, 2, 3], 80), "(3 bytes):80"],
  [create(AddressSchema, { address: { case: "udsAddress", value: { filename: "/run/a.sock" } } }), "unix:/run/a.sock"],
  [create(AddressSchema, { address: { case: "otherAddress", value: { name: "pid 7" } } }), "pid 7"],
  [create(AddressSchema), "-"],
  [undefined, "-"],
])("formats an address for people: %#", (address, expected) => {
  expect(formatAddress(address)).toBe(expected);
});
