import { generateKeyPairSync, sign } from "node:crypto";

/** A self-signed certificate for these hosts and its key, in PEM; valid from and until these years. */
export function createSelfSigned(
  fromYear: number,
  untilYear: number,
  hosts: readonly string[] = ["localhost"],
): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(objectId("550403"), der(0x0c, Buffer.from("localhost")))));
  const algorithm = sequence(objectId("2a8648ce3d040302"));
  const altName = sequence(...hosts.map((host) => der(0x82, Buffer.from(host))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(time(fromYear), time(untilYear)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(objectId("551d11"), der(0x04, altName)))),
  );
  const signature = sign("sha256", body, privateKey);
  const bytes = sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const base64 = bytes.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]): Buffer => der(0x31, Buffer.concat(parts));
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const time = (year: number): Buffer => der(0x18, Buffer.from(`${year}0101000000Z`));
