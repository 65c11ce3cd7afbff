import type uPlot from "uplot";
import { formatRate } from "../object-model/index.js";
import type { ChartColumns } from "./chart-data.js";

const height = 120;

/** A line of a chart. */
export interface ChartLine {
  readonly title: string;
  /** The CSS variable of its colour. */
  readonly colour: "--accent" | "--failing" | "--text-soft";
}

/** A chart on the screen. */
export interface Chart {
  setData(columns: ChartColumns): void;
  /** Marks a moment, in seconds since 1970. */
  mark(seconds: number | undefined): void;
  end(): void;
}

/** Draws a chart into an element. It follows changes of the element's width and of the colour scheme. */
export async function createChart(element: HTMLElement, lines: readonly ChartLine[]): Promise<Chart> {
  // The library is loaded with the first chart.
  const { default: Plot } = await import("uplot");
  let columns: ChartColumns = [[], ...lines.map(() => [])];
  let marked: number | undefined;
  let plot = draw();

  function draw(): uPlot {
    const style = getComputedStyle(element);
    const token = (name: string): string => style.getPropertyValue(name).trim();
    const axis = {
      stroke: token("--text-soft"),
      grid: { stroke: token("--line"), width: 1 },
      ticks: { show: false },
      font: `11px ${style.fontFamily}`,
    };
    const options: uPlot.Options = {
      width: Math.max(120, element.clientWidth),
      height,
      legend: { show: false },
      cursor: { y: false, points: { size: 5 }, drag: { x: false } },
      scales: { y: { range: (_self, _min, max) => [0, Math.max(1, max * 1.1)] } },
      axes: [
        { ...axis, size: 24, space: 80, values: (_self, ticks) => ticks.map(clockTime) },
        { ...axis, size: 40, space: 28, values: (_self, ticks) => ticks.map(formatRate) },
      ],
      series: [
        {},
        ...lines.map(({ title, colour }) => ({
          label: title,
          stroke: token(colour),
          width: 1.5,
          points: { show: false },
          spanGaps: true,
        })),
      ],
      hooks: { draw: [drawMark], setCursor: [showValues] },
    };
    return new Plot(options, columns as uPlot.AlignedData, element);
  }

  /** The values under the pointer, as the tooltip of the element. */
  function showValues({ cursor: { idx } }: uPlot): void {
    if (idx === null || idx === undefined) return;
    const values = lines.map(
      ({ title }, index) => `${title}: ${formatRate(columns[index + 1]?.[idx] ?? 0)} per second`,
    );
    element.title = [clockTime(columns[0][idx] ?? 0), ...values].join("\n");
  }

  function drawMark(self: uPlot): void {
    if (marked === undefined) return;
    self.ctx.fillStyle = getComputedStyle(element).getPropertyValue("--waiting").trim();
    self.ctx.fillRect(self.valToPos(marked, "x", true) - 1, self.bbox.top, 2, self.bbox.height);
  }

  const resized = new ResizeObserver(() => {
    if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
  });
  resized.observe(element);
  const redraw = (): void => {
    plot.destroy();
    plot = draw();
  };
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", redraw);

  return {
    setData(next) {
      columns = next;
      plot.setData(next as uPlot.AlignedData);
    },
    mark(seconds) {
      marked = seconds;
      plot.redraw();
    },
    end() {
      resized.disconnect();
      scheme.removeEventListener("change", redraw);
      plot.destroy();
    },
  };
}

function clockTime(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}
