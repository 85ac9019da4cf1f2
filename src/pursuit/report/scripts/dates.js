// Dates, which are days since 1970 to the model.

const DAY = 86_400_000; // in milliseconds
// Steps of an axis: a number of days, months or years.
const DAY_STEPS = [1, 2, 7, 14];
const MONTH_STEPS = [1, 2, 3, 6];
const [DAYS_OF_MONTH, DAYS_OF_YEAR] = [30.44, 365.25];

// Returns days as 2024-01-31, or as 2024-01-31 13:05 where a column has times.
function dateText(days, hasTimes = false) {
  const text = isoText(days);
  return hasTimes ? text.slice(0, 16).replace("T", " ") : text.slice(0, 10);
}

// Returns the value of an input of dates.
const dateValue = (days, hasTimes) => (hasTimes ? isoText(days) : dateText(days));

// Returns what an input of dates says as days; NaN if it is empty.
const daysOf = (text) => Date.parse(text.includes("T") ? `${text}Z` : text) / DAY;

function isoText(days) {
  const moment = new Date(Math.round(days * DAY));
  return Number.isNaN(+moment) ? "–" : moment.toISOString().slice(0, 23);
}

// Returns a scale with ticks where days, months or years begin.
function dateScale(low, high, from, to, count) {
  const scale = linearScale(low, high, from, to, count);
  const ticks = dateTicks(scale.low, scale.high, Math.max(1, count));
  return ticks.length > 1 ? Object.assign(scale, { ticks }) : scale;
}

function dateTicks(low, high, count) {
  const rough = (high - low) / count;
  const days = DAY_STEPS.find((step) => step >= rough);
  if (days) return stepped(Math.ceil(low), (day) => day + days, high);
  const months =
    MONTH_STEPS.find((step) => step * DAYS_OF_MONTH >= rough) ??
    12 * tickStep(Math.max(rough / DAYS_OF_YEAR, 1), 1);
  const first = new Date(low * DAY);
  const start = 12 * first.getUTCFullYear() + (months < 12 ? first.getUTCMonth() : 0);
  const dayOf = (month) => Date.UTC(Math.floor(month / 12), month % 12, 1) / DAY;
  const all = stepped(start - (start % months), (month) => month + months, high, dayOf);
  return all.filter((day) => day >= low);
}

function stepped(start, next, high, dayOf = (day) => day) {
  const found = [];
  for (let at = start; dayOf(at) <= high; at = next(at)) found.push(dayOf(at));
  return found;
}
