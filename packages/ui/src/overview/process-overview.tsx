import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import {
  type Column,
  Empty,
  ErrorNote,
  Loading,
  Section,
  StateMark,
  Table,
  toneOfState,
  visibleLine,
  wordOfState,
} from "../design/index.js";
import { validityOf } from "../object-model/index.js";
import { Link, openPanel, tableQuery } from "../shell/routing/index.js";
import { rates, snapshot } from "../shell/store/index.js";
import { CertificateSection, certificateReason } from "./certificate-section.js";
import { Figures } from "./figures.js";
import { percent, perSecond } from "./number-text.js";
import { type Problem, summarizeProcess } from "./process-summary.js";
import { type UsedCertificate, useCertificates } from "./use-certificates.js";

const stateOrder = ["TRANSIENT_FAILURE", "CONNECTING", "READY", "IDLE", "SHUTDOWN", "UNKNOWN"];

const columns: readonly Column<Problem>[] = [
  {
    key: "object",
    title: "Object",
    render: ({ object }) => (
      <Link to={`/object/${object.kind}/${object.id}`} inPanel>
        {`${object.kind} ${object.id}`}
      </Link>
    ),
    sortValue: ({ object }) => object.id,
  },
  {
    key: "name",
    title: "Name",
    render: ({ object }) => visibleLine(object.target || object.name),
    sortValue: ({ object }) => object.name,
  },
  {
    key: "state",
    title: "State",
    render: ({ object, tone }) => (
      <StateMark tone={tone}>{object.state === undefined ? object.kind : wordOfState(object.state)}</StateMark>
    ),
    priority: 2,
  },
  { key: "reason", title: "Reason", render: ({ reason }) => <span title={reason}>{reason}</span>, isWide: true },
];

const keyOf = ({ object, reason }: Problem): string => `${object.key} ${reason}`;
const searchText = ({ object, reason }: Problem): string => `${object.name} ${object.target ?? ""} ${reason}`;

/** A summary of any process that speaks Channelz: counts by state, traffic, failures with their reasons, certificates. */
export function ProcessOverview(): VNode {
  const current = snapshot.value;
  const summary = useMemo(() => current && summarizeProcess(current), [current]);
  const certificates = useCertificates(current);
  if (current === undefined || summary === undefined) return <Loading what="objects" />;
  const { channels, servers, sockets, subchannels } = summary.counts;
  const failing = current.origins.filter(({ error }) => error !== undefined);
  const problems = [...summary.problems, ...certificates.flatMap(certificateProblem)];
  const traffic = summary.topKeys.map(rates);
  const started = traffic.reduce((sum, each) => sum + each.started, 0);
  const failed = traffic.reduce((sum, each) => sum + each.failed, 0);
  return (
    <div class="page">
      <h1 class="visually-hidden">Overview</h1>
      <Figures
        figures={[
          { name: "channels ready", value: summary.channelStates.get("READY") ?? 0, unit: `of ${channels}` },
          { name: "subchannels", value: subchannels },
          { name: "servers", value: servers },
          { name: "sockets", value: sockets },
          { name: "calls per second", value: perSecond(started) },
          { name: "failed", value: percent(failed, started) },
        ]}
      />
      {failing.map(({ name, target, error }) => (
        <ErrorNote key={`${name} ${target}`} error={error?.includes(target) ? error : `${target || name}: ${error}`} />
      ))}
      {current.stoppedBy !== undefined && failing.length === 0 && (
        <ErrorNote error={`Not everything was read. ${current.stoppedBy}`} />
      )}
      <Section title="Channels by state">
        <ul class="state-counts">
          {stateOrder
            .filter((state) => summary.channelStates.has(state))
            .map((state) => (
              <li key={state}>
                <Link to={`/connections?state=${encodeURIComponent(wordOfState(state))}`}>
                  <StateMark tone={toneOfState(state)}>
                    {summary.channelStates.get(state)} {wordOfState(state)}
                  </StateMark>
                </Link>
              </li>
            ))}
          {channels === 0 && <li class="soft">The process has no channels.</li>}
        </ul>
      </Section>
      <Section title="Needs attention" isFlush>
        <Table
          what="problems"
          {...tableQuery()}
          columns={columns}
          rows={problems}
          keyOf={keyOf}
          {...(problems.length > 8 && { searchText })}
          onOpen={({ object }) => openPanel(`/object/${object.kind}/${object.id}`)}
          empty={
            <Empty title="Nothing is failing.">
              <p>Channels, servers and certificates that need attention appear here.</p>
            </Empty>
          }
        />
      </Section>
      <CertificateSection used={certificates} />
    </div>
  );
}

function certificateProblem(used: UsedCertificate): readonly Problem[] {
  const reason = certificateReason(used);
  if (reason === undefined) return [];
  const [tone] = validityOf(used.certificate, Date.now());
  return [{ object: used.socket, tone, reason }];
}
