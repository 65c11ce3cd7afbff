import type { VNode } from "preact";
import { type Column, Section, StateMark, Table, Time } from "../design/index.js";
import { objectLabel, objectPath, validityOf } from "../object-model/index.js";
import { Link, openPanel, tableQuery } from "../shell/routing/index.js";
import type { UsedCertificate } from "./use-certificates.js";

const columns: readonly Column<UsedCertificate>[] = [
  {
    key: "subject",
    title: "Subject",
    render: ({ certificate: { subject } }) => <span title={subject}>{subject}</span>,
    isWide: true,
  },
  { key: "side", title: "Owner", render: ({ side }) => (side === "own" ? "this process" : "peer"), priority: 2 },
  {
    key: "validity",
    title: "Validity",
    render({ certificate }) {
      const [tone, word] = validityOf(certificate, Date.now());
      return <StateMark tone={tone}>{word}</StateMark>;
    },
  },
  { key: "expires", title: "Expires", render: ({ certificate: { notAfterMs } }) => <Time ms={notAfterMs} /> },
  {
    key: "socket",
    title: "Used by",
    render: ({ socket }) => (
      <Link to={objectPath(socket)} inPanel>
        {objectLabel(socket)}
      </Link>
    ),
    priority: 3,
  },
];

const keyOf = ({ side, certificate: { issuer, serial } }: UsedCertificate): string => `${side} ${issuer} ${serial}`;

/** The certificates of a process's connections, in the order of their expiry. */
export function CertificateSection({ used }: { readonly used: readonly UsedCertificate[] }): VNode | null {
  if (used.length === 0) return null;
  return (
    <Section title="Certificates" isFlush>
      <Table
        what="certificates"
        {...tableQuery("certificates")}
        columns={columns}
        rows={used}
        empty={null}
        keyOf={keyOf}
        onOpen={({ socket }) => openPanel(objectPath(socket))}
      />
    </Section>
  );
}

/** The problem of a certificate that is invalid or expires soon; undefined otherwise. */
export function certificateReason({ certificate, side }: UsedCertificate): string | undefined {
  const [tone, word] = validityOf(certificate, Date.now());
  const owner = side === "own" ? "this process" : "the peer";
  return tone === "ready" ? undefined : `The certificate ${certificate.subject} of ${owner}: ${word}.`;
}
