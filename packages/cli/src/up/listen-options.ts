import { resolve } from "node:path";
import { parseUrl } from "@wirescope/channelz/internal";
import type { GatewayListenOptions } from "@wirescope/gateway";
import type { OptionValues } from "../options.js";
import { pemFileOf } from "../tool-server/read-pem.js";
import { UsageError } from "../usage-error.js";
import { defaultPort, type upOptions } from "./up-options.js";

/** Where the gateway listens, and who may call, by its options. Throws a UsageError. */
export function listenOptionsOf(values: OptionValues<typeof upOptions>): GatewayListenOptions {
  const { host, cert, key, port = String(defaultPort) } = values;
  if (!/^\d+$/.test(port) || Number(port) > 65_535)
    throw new UsageError(`--port must be a number from 0 to 65535, not "${port}".`);
  if ((cert === undefined) !== (key === undefined)) throw new UsageError("--cert and --key must be used together.");
  const ca = pemFileOf(values["client-ca"], "--client-ca");
  const certificate = pemFileOf(cert, "--cert");
  const privateKey = pemFileOf(key, "--key");
  const hasTls = certificate !== undefined && privateKey !== undefined;
  if (ca !== undefined && !hasTls) throw new UsageError("--client-ca requires --cert and --key.");
  if (values["no-token"] && values["token-file"] !== undefined) {
    throw new UsageError("--no-token and --token-file cannot be used together.");
  }
  return {
    port: Number(port),
    ...(host === undefined ? {} : { host }),
    ...(hasTls ? { tls: { cert: certificate, key: privateKey, ...(ca === undefined ? {} : { ca }) } } : {}),
    ...(values["token-file"] === undefined ? {} : { tokenFile: resolve(values["token-file"]) }),
    ...(values["no-token"] ? { token: false as const } : {}),
    ...(values["allow-host"].length === 0 ? {} : { allowedHosts: values["allow-host"] }),
    ...(values["allow-origin"].length === 0 ? {} : { allowedOrigins: values["allow-origin"].map(originOf) }),
  };
}

function originOf(text: string): string {
  if (parseUrl(text)?.origin === text) return text;
  throw new UsageError(`--allow-origin must be an origin such as https://tools.example.com, not "${text}".`);
}
