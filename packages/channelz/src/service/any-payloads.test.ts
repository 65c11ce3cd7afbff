import { clone, create, equals } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  GetServersResponseSchema,
  type GetSocketResponse,
  GetSocketResponseSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import { nameAnyPayloads } from "./any-payloads.js";

const any = (name: string) => ({ typeUrl: `type.googleapis.com/${name}`, value: new Uint8Array([8, 1]) });

const response = (): GetSocketResponse =>
  create(GetSocketResponseSchema, {
    socket: {
      data: {
        option: [
          { name: "SO_LINGER", additional: any("rpc.channelz.v1.SocketOptionLinger") },
          { name: "TCP_INFO", additional: any("grpc.channelz.v1.SocketOptionTcpInfo") },
          { name: "SO_MARK", additional: any("rpc.channelz.v10.Foreign") },
        ],
      },
      local: { address: { case: "otherAddress", value: { name: "pipe", value: any("rpc.channelz.v1.Address") } } },
      remote: { address: { case: "udsAddress", value: { filename: "/run/x" } } },
      security: { model: { case: "other", value: { name: "alts", value: any("grpc.channelz.v1.Security") } } },
    },
  });

const typeUrls = (message: GetSocketResponse): string[] =>
  [
    ...JSON.stringify(message.socket, (_, v) => (typeof v === "bigint" ? 0 : v)).matchAll(/googleapis\.com\/([\w.]+)/g),
  ].map((m) => m[1] ?? "");

test("[CZ-D-VER-2] names every payload after the package that is served, and keeps foreign names", () => {
  expect(typeUrls(nameAnyPayloads(response(), "grpc.channelz.v1")).sort()).toEqual([
    "grpc.channelz.v1.Address",
    "grpc.channelz.v1.Security",
    "grpc.channelz.v1.SocketOptionLinger",
    "grpc.channelz.v1.SocketOptionTcpInfo",
    "rpc.channelz.v10.Foreign",
  ]);
  expect(typeUrls(nameAnyPayloads(response(), "rpc.channelz.v1")).filter((name) => name.startsWith("grpc"))).toEqual(
    [],
  );
});

test("does not change the message of the source", () => {
  const original = response();
  const before = clone(GetSocketResponseSchema, original);
  nameAnyPayloads(original, "grpc.channelz.v1");
  nameAnyPayloads(original, "rpc.channelz.v1");
  expect(equals(GetSocketResponseSchema, original, before)).toBe(true);
});

test("returns a message without payloads to rename unchanged", () => {
  const servers = create(GetServersResponseSchema, { end: true });
  const socket = create(GetSocketResponseSchema, {
    socket: { data: { option: [{ name: "SO_LINGER", value: "off" }] } },
  });
  expect(nameAnyPayloads(servers, "grpc.channelz.v1")).toBe(servers);
  expect(nameAnyPayloads(socket, "grpc.channelz.v1")).toBe(socket);
});
