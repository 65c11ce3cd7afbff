import { fromBinary } from "@bufbuild/protobuf";
import {
  type Address,
  SocketOptionLingerSchema,
  SocketOptionTcpInfoSchema,
  SocketOptionTimeoutSchema,
} from "../gen/rpc/channelz/v1/channelz_pb.js";
import type { Observations } from "./observations.js";
import { dataOf, nameOf, socketsOf } from "./read-sockets.js";
import { type Check, check, checkEach } from "./result.js";

const specified = check("specification");

function addressesOf(seen: Observations): { name: string; end: string; address: Address }[] {
  return socketsOf(seen).flatMap((socket) =>
    (["local", "remote"] as const).flatMap((end) => {
      const address = socket.second[end];
      return address === undefined ? [] : [{ name: nameOf(socket), end, address }];
    }),
  );
}

const payloads = {
  SO_RCVTIMEO: SocketOptionTimeoutSchema,
  SO_SNDTIMEO: SocketOptionTimeoutSchema,
  SO_LINGER: SocketOptionLingerSchema,
  TCP_INFO: SocketOptionTcpInfoSchema,
} as const;

const optionsOf = (seen: Observations) =>
  dataOf(seen).flatMap(({ name, second }) => second.option.map((option) => ({ name, option })));

/** Rules for the addresses, security and options of sockets. */
export const addressChecks: readonly Check[] = [
  specified("CZ-ADDR-1", "exactly one member of an address is set", (seen) =>
    checkEach(addressesOf(seen), "addresses", ({ name, end, address }) =>
      address.address.case === undefined ? `the ${end} address of ${name} is empty` : undefined,
    ),
  ),
  specified("CZ-ADDR-2", "an IP address has 4 or 16 bytes", (seen) =>
    checkEach(tcpAddresses(seen), "IP addresses", ({ name, end, value: { ipAddress } }) =>
      ipAddress.length === 4 || ipAddress.length === 16
        ? undefined
        : `the ${end} address of ${name} has ${ipAddress.length} bytes`,
    ),
  ),
  specified("CZ-ADDR-3", "a port is 0 to 65535, or -1", (seen) =>
    checkEach(tcpAddresses(seen), "IP addresses", ({ name, end, value: { port } }) =>
      port >= -1 && port <= 65_535 ? undefined : `the ${end} port of ${name} is ${port}`,
    ),
  ),
  specified("CZ-ADDR-4", "a socket that listens on a Unix socket shows its path", (seen) =>
    checkEach(
      addressesOf(seen).filter(
        ({ name, address }) => name.endsWith("(listen)") && address.address.case === "udsAddress",
      ),
      "listening Unix sockets",
      ({ name, address: { address } }) =>
        address.case === "udsAddress" && address.value.filename !== "" ? undefined : `${name} has no path`,
    ),
  ),
  specified("CZ-ADDR-5", "an address of another kind has a name", (seen) =>
    checkEach(
      addressesOf(seen).filter(({ address }) => address.address.case === "otherAddress"),
      "other addresses",
      ({ name, end, address: { address } }) =>
        address.case === "otherAddress" && address.value.name !== ""
          ? undefined
          : `the ${end} address of ${name} has no name`,
    ),
  ),
  specified("CZ-SEC-1", "TLS has the name of its cipher suite", (seen) =>
    checkEach(
      socketsOf(seen).filter(({ second }) => second.security?.model.case === "tls"),
      "TLS sockets",
      (socket) => {
        const model = socket.second.security?.model;
        return model?.case === "tls" && model.value.cipherSuite.value
          ? undefined
          : `${nameOf(socket)} has no cipher suite`;
      },
    ),
  ),
  specified("CZ-SEC-3", "security that is not TLS has a name", (seen) =>
    checkEach(
      socketsOf(seen).filter(({ second }) => second.security?.model.case === "other"),
      "sockets with other security",
      (socket) => {
        const model = socket.second.security?.model;
        return model?.case === "other" && model.value.name !== ""
          ? undefined
          : `${nameOf(socket)} has security without a name`;
      },
    ),
  ),
  specified("CZ-OPT-1", "an option has a name", (seen) =>
    checkEach(optionsOf(seen), "options", ({ name, option }) =>
      option.name === "" ? `an option of ${name} has no name` : undefined,
    ),
  ),
  specified("CZ-OPT-2", "an option has a value, an additional payload, or both", (seen) =>
    checkEach(optionsOf(seen), "options", ({ name, option }) =>
      option.value === "" && option.additional === undefined ? `${option.name} of ${name} has neither` : undefined,
    ),
  ),
  specified("CZ-OPT-3", "timeouts, linger and TCP_INFO carry their payloads", (seen) =>
    checkEach(
      optionsOf(seen).filter(({ option }) => option.name in payloads && option.additional !== undefined),
      "options with a payload",
      ({ name, option }) => checkPayload(option.name as keyof typeof payloads, option.additional, name),
    ),
  ),
];

function tcpAddresses(seen: Observations) {
  return addressesOf(seen).flatMap(({ name, end, address: { address } }) =>
    address.case === "tcpipAddress" ? [{ name, end, value: address.value }] : [],
  );
}

function checkPayload(
  option: keyof typeof payloads,
  payload: { readonly typeUrl: string; readonly value: Uint8Array } | undefined,
  name: string,
): string | undefined {
  const schema = payloads[option];
  const type = payload?.typeUrl.slice(payload.typeUrl.lastIndexOf(".") + 1);
  if (type !== schema.name) return `${option} of ${name} carries a ${type}`;
  try {
    fromBinary<typeof schema>(schema, payload?.value ?? new Uint8Array());
    return undefined;
  } catch {
    return `${option} of ${name} carries a ${type} that cannot be decoded`;
  }
}
