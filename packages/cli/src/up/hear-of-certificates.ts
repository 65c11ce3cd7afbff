import { printableText } from "@wirescope/channelz/internal";
import type { GatewayListener, GatewayListenOptions } from "@wirescope/gateway";
import type { Io } from "../io.js";

/**
 * Has it told what becomes of files with certificates that changed, and that a certificate runs out: in the log; where there is none, on
 * standard error if they cannot be used or run out, for sooner or later nobody could call any more.
 */
export function hearOfCertificates(
  listen: GatewayListenOptions,
  io: Io,
  log: GatewayListener | undefined,
): GatewayListenOptions {
  if (listen.tls === undefined) return listen;
  const tellDefect = (reason: string): void => {
    if (log !== undefined) log({ kind: "defect", reason });
    else io.stderr.write(`wirescope: ${printableText(reason)}\n`);
  };
  return {
    ...listen,
    tls: {
      ...listen.tls,
      onChange({ isUsable, files, message }) {
        if (!isUsable) tellDefect(message);
        else log?.({ kind: "certificates", files, reason: message });
      },
      onExpiring: ({ message }) => tellDefect(message),
    },
  };
}
