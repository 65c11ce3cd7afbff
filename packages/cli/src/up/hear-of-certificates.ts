import { printableText } from "@wirescope/channelz/printable-text";
import type { GatewayListener, GatewayListenOptions } from "@wirescope/gateway";
import type { Io } from "../io.js";

/**
 * Has it told what becomes of files with certificates that changed: in the log; where there is none, on standard error if they
 * cannot be used, for sooner or later nobody could call any more.
 */
export function hearOfCertificates(
  listen: GatewayListenOptions,
  io: Io,
  log: GatewayListener | undefined,
): GatewayListenOptions {
  if (listen.tls === undefined) return listen;
  return {
    ...listen,
    tls: {
      ...listen.tls,
      onChange({ isUsable, files, message }) {
        if (log !== undefined)
          log(isUsable ? { kind: "certificates", files, reason: message } : { kind: "defect", reason: message });
        else if (!isUsable) io.stderr.write(`wirescope: ${printableText(message)}\n`);
      },
    },
  };
}
