import type { Security, Socket } from "@wirescope/channelz/client";
import { printableText } from "@wirescope/channelz/internal/text";
import type { SnapshotObject } from "@wirescope/channelz/timeline";
import type { VNode } from "preact";
import { ErrorNote, Loading, PropertyList, Section } from "../design/index.js";
import { chosenTime } from "../shell/store/index.js";
import { CertificateDetails } from "./certificate-details.js";
import { describeOptions, type OptionRow } from "./socket-options.js";
import { useSocketDetails } from "./use-socket-details.js";

export interface SocketSectionsProps {
  readonly object: Extract<SnapshotObject, { kind: "socket" }>;
  readonly isClosed: boolean;
}

/** The sections that only a socket has: security, flow control, options and TCP state. */
export function SocketSections({ object, isClosed }: SocketSectionsProps): VNode {
  const isPast = isClosed || chosenTime.value !== undefined;
  const { socket, error, isLoading } = useSocketDetails(object, !isPast);
  const { options, tcpInfo } = describeOptions(socket?.data?.option ?? []);
  return (
    <>
      <SecuritySection security={socket?.security} isPast={isPast} isLoading={isLoading} />
      <FlowControlSection socket={socket} />
      {tcpInfo.length > 0 && <TcpSection rows={tcpInfo} />}
      <Section title="Socket options" isFlush={options.length > 0}>
        {options.length > 0 ? (
          <OptionTable rows={options} />
        ) : isLoading ? (
          <Loading what="socket options" />
        ) : (
          <p class="soft">
            {isPast
              ? "Options are read from open sockets only, not for the past."
              : "The process reports no options for this socket."}
          </p>
        )}
        {error !== undefined && <ErrorNote error={error} />}
      </Section>
    </>
  );
}

interface SecuritySectionProps {
  readonly security: Security | undefined;
  readonly isPast: boolean;
  readonly isLoading: boolean;
}

function SecuritySection({ security, isPast, isLoading }: SecuritySectionProps): VNode {
  if (security?.model.case === undefined) {
    return (
      <Section title="Security">
        {isLoading ? (
          <Loading what="security" />
        ) : (
          <p>
            {isPast
              ? "Security is read from open sockets only, not for the past."
              : "Not encrypted, or the process does not report it."}
          </p>
        )}
      </Section>
    );
  }
  if (security.model.case === "other") {
    return (
      <Section title="Security">
        <PropertyList rows={[["mechanism", printableText(security.model.value.name || "(other)", 300)]]} />
      </Section>
    );
  }
  const { cipherSuite, localCertificate, remoteCertificate } = security.model.value;
  return (
    <Section title="Security">
      <PropertyList
        rows={[
          ["protocol", "TLS"],
          ["cipher", printableText(cipherSuite.value ?? "", 200)],
        ]}
      />
      <CertificateDetails title="Remote certificate" bytes={remoteCertificate} />
      <CertificateDetails title="Local certificate" bytes={localCertificate} />
    </Section>
  );
}

/** Windows usually start at 65,535 bytes, and senders stop at 0. */
function FlowControlSection({ socket }: { readonly socket: Socket | undefined }): VNode | null {
  const local = socket?.data?.localFlowControlWindow;
  const remote = socket?.data?.remoteFlowControlWindow;
  if (local === undefined && remote === undefined) return null;
  const bytes = (window: bigint | undefined): VNode | string =>
    window === undefined ? (
      "unknown"
    ) : (
      <span class={window <= 0n ? "window-empty" : undefined}>
        {window.toLocaleString("en")} bytes{window <= 0n ? ", sender must wait" : ""}
      </span>
    );
  return (
    <Section title="Flow control">
      <PropertyList
        rows={[
          ["may be sent", bytes(local)],
          ["may be received", bytes(remote)],
        ]}
      />
    </Section>
  );
}

/** The most important fields. */
const firstRows = [
  "tcpi_state",
  "tcpi_rtt",
  "tcpi_rttvar",
  "tcpi_retransmits",
  "tcpi_lost",
  "tcpi_unacked",
  "tcpi_snd_cwnd",
  "tcpi_pmtu",
];

function TcpSection({ rows }: { readonly rows: readonly OptionRow[] }): VNode {
  const important = firstRows.flatMap((name) => rows.find((row) => row.name === name) ?? []);
  return (
    <Section title="TCP">
      <dl class="tcp-tiles">
        {important.map(({ name, value, meaning }) => (
          <div key={name} title={name}>
            <dt>{meaning}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <details class="tcp-all">
        <summary>All {rows.length} fields</summary>
        <OptionTable rows={rows} />
      </details>
    </Section>
  );
}

function OptionTable({ rows }: { readonly rows: readonly OptionRow[] }): VNode {
  return (
    <table class="option-table">
      <thead class="visually-hidden">
        <tr>
          <th scope="col">Option</th>
          <th scope="col">Meaning</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, value, meaning }, index) => (
          // A peer may repeat an option.
          <tr key={`${name} ${index}`}>
            <th scope="row">
              <code>
                {name.split(/(?<=_)/).map((part) => (
                  <>
                    {part}
                    <wbr />
                  </>
                ))}
              </code>
            </th>
            <td class="soft">{meaning}</td>
            <td class="option-value">{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
