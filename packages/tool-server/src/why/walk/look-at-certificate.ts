import { isIP, connect as netConnect, type Socket } from "node:net";
import { type PeerCertificate, type TLSSocket, connect as tlsConnect } from "node:tls";
import { isoTime } from "../../duration.js";
import { nameOf, settleSocket } from "../../http/connect-socket.js";
import { hostOf, portOf } from "../../http/loopback.js";
import type { ProxyServer } from "../../http/proxy-settings.js";
import { openTunnel } from "../../http/proxy-tunnel.js";
import type { CertificateFacts } from "../facts.js";
import { within } from "./time-limit.js";
import type { Walk } from "./walk.js";

/**
 * The certificate that a host shows, which was refused: what is wrong with it can be seen only if the handshake goes on. The
 * connection is ended as soon as it stands, and nothing is sent over it. Undefined where it cannot be had.
 */
export async function lookAtCertificate(
  walk: Walk,
  url: URL,
  proxy: ProxyServer | undefined,
): Promise<CertificateFacts | undefined> {
  // A proxy that is spoken to over TLS would have to be trusted itself.
  if (proxy?.isSecure) return undefined;
  const [host, port] = [hostOf(url.hostname), portOf(url)];
  let below: Socket | undefined;
  let secured: TLSSocket | undefined;
  try {
    return await within(walk, async (signal) => {
      below = netConnect({ host: proxy?.host ?? host, port: proxy?.port ?? port });
      below = await settleSocket(below, "connect", signal);
      if (proxy !== undefined) below = await openTunnel(below, nameOf(host, port), proxy, signal);
      secured = tlsConnect({
        socket: below,
        host,
        servername: isIP(host) === 0 ? host : "",
        rejectUnauthorized: false,
        ALPNProtocols: ["http/1.1"],
      });
      await settleSocket(secured, "secureConnect", signal);
      return describe(walk, secured.getPeerCertificate());
    });
  } catch {
    return undefined;
  } finally {
    secured?.destroy();
    below?.destroy();
  }
}

function describe({ say }: Walk, certificate: PeerCertificate): CertificateFacts | undefined {
  const { subject, issuer, subjectaltname, valid_from: from, valid_to: to } = certificate;
  if (from === undefined || to === undefined) return undefined;
  const nameOfParty = (party: PeerCertificate["subject"] | undefined): string =>
    say([party?.CN, party?.O].flat().filter(Boolean).join(", ") || "nobody", 200);
  return {
    subject: nameOfParty(subject),
    issuer: nameOfParty(issuer),
    names: say(subjectaltname ?? "", 300),
    validFrom: isoTime(from),
    validTo: isoTime(to),
  };
}
