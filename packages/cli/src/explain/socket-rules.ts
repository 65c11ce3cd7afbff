import { fromBinary } from "@bufbuild/protobuf";
import { type SocketOptionTcpInfo, SocketOptionTcpInfoSchema } from "@wirescope/channelz/client";
import { formatSpan } from "@wirescope/channelz/internal/text";
import { inFlight, type SnapshotObject, stitch } from "@wirescope/channelz/timeline";
import { certificatesOf, subjectOf } from "../read/certificates.js";
import { counted, type Finding, listNames, nameOf, type Observation, type Rule } from "./finding.js";
import { defaultThresholds } from "./thresholds.js";

const weakCipher = /RC4|3DES|DES_CBC|NULL|EXPORT|MD5|TLS_RSA_|SSL_/i;

const { expiryMs, minRetransmits, slowRttMs } = defaultThresholds;

type SocketObject = Extract<SnapshotObject, { readonly kind: "socket" }>;

/** Rules about single connections: TLS, TCP, and both ends of a connection. */
export const socketRules: readonly Rule[] = [
  {
    id: "certificate-expires",
    finds: "a certificate that expired or expires soon",
    threshold: `${expiryMs / 86_400_000} days, or a quarter of its lifetime if that is shorter`,
    find: expiringCertificates,
  },
  {
    id: "old-tls",
    finds: "a cipher suite without forward secrecy, or one that is broken",
    threshold: "RC4, 3DES, NULL, EXPORT, MD5 or a TLS_RSA_ key exchange",
    find: (seen) => {
      const byCipher = new Map<string, SocketObject[]>();
      for (const socket of socketsOf(seen)) {
        const cipher = cipherOf(socket);
        if (!weakCipher.test(cipher)) continue;
        byCipher.set(cipher, [...(byCipher.get(cipher) ?? []), socket]);
      }
      return [...byCipher].map(([cipher, found]) => ({
        severity: "warning",
        problem: `${counted(found.length, "connection")} ${found.length === 1 ? "uses" : "use"} the old cipher suite ${cipher}.`,
        evidence: [listNames(found)],
        advice: "Allow only TLS 1.2 with ECDHE, or TLS 1.3, at the side that chooses: the server.",
        objects: found,
      }));
    },
  },
  {
    id: "tcp-loss",
    finds: "connections on which TCP loses packets",
    threshold: `${minRetransmits} retransmits of the oldest segment, or lost segments, at the last read`,
    find: (seen) =>
      socketsOf(seen).flatMap((socket): Finding[] => {
        const info = tcpInfoOf(socket);
        if (info === undefined || (info.tcpiRetransmits < seen.thresholds.minRetransmits && info.tcpiLost === 0))
          return [];
        return [
          {
            severity: "warning",
            problem: `${nameOf(socket)} loses packets.`,
            evidence: [
              `${info.tcpiRetransmits} retransmits of the oldest segment, ${info.tcpiLost} segments lost, ${info.tcpiUnacked} not acknowledged.`,
            ],
            advice:
              "The network drops packets, or the peer went away without a reset. Compare with other connections to the same host.",
            objects: [socket],
          },
        ];
      }),
  },
  {
    id: "slow-network",
    finds: "connections with a long round trip",
    threshold: `${slowRttMs} ms`,
    find: (seen) => {
      const slow = socketsOf(seen).filter(
        (socket) => (tcpInfoOf(socket)?.tcpiRtt ?? 0) > seen.thresholds.slowRttMs * 1000,
      );
      if (slow.length === 0) return [];
      const worst = Math.max(...slow.map((socket) => tcpInfoOf(socket)?.tcpiRtt ?? 0));
      return [
        {
          severity: "note",
          problem: `${counted(slow.length, "connection")} ${slow.length === 1 ? "has" : "have"} a long round trip.`,
          evidence: [`Up to ${Math.round(worst / 1000)} ms: ${listNames(slow)}.`],
          advice: "Each call takes at least one round trip: use a closer server, or fewer calls.",
          objects: slow,
        },
      ];
    },
  },
  {
    id: "stuck-calls",
    finds: "calls that one of two processes holds, if both ends of the connection are targets",
    threshold: "streams that were in progress at every read; fewer ended meanwhile than were in progress at first",
    find: (seen) =>
      stitch(seen.last).flatMap(({ client, server }): Finding[] => {
        const before = seen.first.objects.get(client.socket.key);
        if (before === undefined || seen.snapshots.length < 2) return [];
        // On a busy connection some streams are always in progress. These are the ones that cannot have ended.
        const waiting = inFlight(before.counters) - (endedOf(client.socket) - endedOf(before));
        if (waiting < 1) return [];
        const held = inFlight(server.socket.counters);
        // The two processes are not read at the same moment, so only streams started before the first read count as lost.
        const lost = before.counters.started - server.socket.counters.started;
        // For a process that calls itself, the origins are empty.
        const [from, to] = [client.origin || nameOf(client.top), server.origin || nameOf(server.top)];
        const fault =
          lost > 0
            ? `${counted(lost, "stream")} never reached ${to}: the network, or ${to} does not read.`
            : held > 0
              ? `${to} is still processing them: it is the slow end.`
              : `${to} has finished them: ${from} does not read the responses.`;
        return [
          {
            severity: "note",
            problem: `${counted(waiting, "call")} from ${from} to ${to} ${waiting === 1 ? "waits" : "wait"}.`,
            evidence: [`${nameOf(client.socket)}: ${waiting} in progress; ${nameOf(server.socket)}: ${held}.`, fault],
            advice:
              lost > 0
                ? "Look at the connection: wirescope show <id>@<target>."
                : "Subscriptions and watches look like this. Otherwise look at that process next.",
            objects: [client.socket, server.socket],
          },
        ];
      }),
  },
];

function socketsOf({ objects }: Observation): SocketObject[] {
  return objects.filter((object) => object.kind === "socket");
}

function endedOf({ counters }: SnapshotObject): number {
  return counters.succeeded + counters.failed;
}

function cipherOf({ message }: SocketObject): string {
  return message?.security?.model.case === "tls" ? (message.security.model.value.cipherSuite.value ?? "") : "";
}

function tcpInfoOf({ message }: SocketObject): SocketOptionTcpInfo | undefined {
  const payload = message?.data?.option.find(({ name }) => name === "TCP_INFO")?.additional;
  if (payload === undefined || !payload.typeUrl.endsWith(".SocketOptionTcpInfo")) return undefined;
  try {
    return fromBinary(SocketOptionTcpInfoSchema, payload.value);
  } catch {
    return undefined;
  }
}

function expiringCertificates(seen: Observation): Finding[] {
  const found = new Map<string, { expiry: Date; subject: string; side: string; sockets: SocketObject[] }>();
  for (const socket of socketsOf(seen)) {
    for (const { certificate, expiry, side } of certificatesOf(socket.message)) {
      const lifetimeMs = expiry.getTime() - new Date(certificate.validFrom).getTime();
      // Certificates of a service mesh are valid for hours, and are renewed in time.
      if (expiry.getTime() - seen.last.timeMs > Math.min(seen.thresholds.expiryMs, lifetimeMs / 4)) continue;
      const key = `${side} ${certificate.fingerprint256}`;
      const known = found.get(key) ?? { expiry, subject: subjectOf(certificate), side, sockets: [] };
      known.sockets.push(socket);
      found.set(key, known);
    }
  }
  return [...found.values()].map(({ expiry, subject, side, sockets }) => {
    const leftMs = expiry.getTime() - seen.last.timeMs;
    const when = leftMs > 0 ? `expires in ${formatSpan(leftMs)}` : `expired ${formatSpan(-leftMs)} ago`;
    return {
      severity: leftMs > 0 ? "warning" : "error",
      problem: `The ${side === "local" ? "process's own" : "peer's"} certificate ${subject} ${when}.`,
      evidence: [`Valid until ${expiry.toISOString()}; used by ${listNames(sockets)}.`],
      advice:
        side === "local" ? "Renew it, and let the process load the new one." : "Ask the owner of the peer to renew it.",
      objects: sockets,
    };
  });
}
