import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { PropertyList, StateMark, Time } from "../design/index.js";
import { type Certificate, readCertificate, validityOf } from "../object-model/index.js";
import { shownTimeMs } from "../shell/store/index.js";

/** The details of a certificate, and how long it is still valid. */
export function CertificateDetails({
  title,
  bytes,
}: {
  readonly title: string;
  readonly bytes: Uint8Array;
}): VNode | null {
  const [certificate, setCertificate] = useState<Certificate | "unreadable">();
  // Each snapshot has a new but equal array.
  const identity = bytes.join(",");
  useEffect(() => {
    let isCurrent = true;
    void readCertificate(bytes).then((found) => {
      if (isCurrent) setCertificate(found ?? "unreadable");
    });
    return () => {
      isCurrent = false;
    };
  }, [identity]);
  if (bytes.length === 0 || certificate === undefined) return null;
  if (certificate === "unreadable") {
    return (
      <PropertyList
        rows={[[title.toLowerCase(), `${bytes.length.toLocaleString("en")} bytes that are not a certificate`]]}
      />
    );
  }
  const { subject, issuer, names, serial, notBeforeMs, notAfterMs } = certificate;
  const [tone, word] = validityOf(certificate, shownTimeMs());
  return (
    <div class="certificate">
      <h3>{title}</h3>
      <PropertyList
        rows={[
          [
            "validity",
            <StateMark key="validity" tone={tone}>
              {word}
            </StateMark>,
          ],
          ["expires", <Time key="expires" ms={notAfterMs} />],
          ["valid from", <Time key="from" ms={notBeforeMs} />],
          ["subject", subject],
          ["issuer", issuer],
          ["names", names.join(", ")],
          ["serial number", serial],
        ]}
      />
    </div>
  );
}
