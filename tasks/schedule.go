package tasks

import (
	"strconv"
	"strings"
	"time"
)

// Schedule is when a task runs again and again.
type Schedule struct {
	Cron string `json:"cron" jsonschema:"minute, hour, day of the month, month and day of the week, such as 30 6 * * MON-FRI, or @hourly, @daily, @weekly, @monthly or @yearly"`
	Zone string `json:"zone,omitempty" jsonschema:"the time zone, such as Europe/Berlin; UTC unless told"`
}

// maxCron bounds the text of a schedule, and horizon how far the next time is looked
// for: the 29th of February may be eight years away.
const (
	maxCron = 200
	horizon = 9 * 366 * 24 * time.Hour
)

// cron is a parsed schedule: bit n of a field is set if n is selected.
type cron struct {
	minute, hour, day, month, weekday uint64
	anyHour, anyDay, anyWeekday       bool
	zone                              *time.Location
}

// field is what a field of a schedule may have.
type field struct {
	name        string
	least, most int
	words       []string // of numbers from least on
}

func fields() []field {
	return []field{
		{name: "minute", most: 59},
		{name: "hour", most: 23},
		{name: "day of the month", least: 1, most: 31},
		{name: "month", least: 1, most: 12, words: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{name: "day of the week", most: 7, words: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// shortcut returns the schedule that a word such as @daily means.
func shortcut(word string) string {
	return map[string]string{"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *"}[word]
}

// check refuses a schedule that cannot be read or never comes.
func (s Schedule) check() error {
	_, err := s.Next(time.Now())
	return err
}

// parse reads a schedule.
func (s Schedule) parse() (c cron, err error) {
	if len(s.Cron) > maxCron || len(s.Zone) > maxCron {
		return c, invalid("the schedule has more than %d bytes", maxCron)
	}
	if c.zone, err = time.LoadLocation(s.Zone); err != nil || s.Zone == "Local" {
		return c, invalid("there is no time zone %.60q", s.Zone).WithHint("use a name such as Europe/Berlin")
	}
	text := strings.ToLower(strings.TrimSpace(s.Cron))
	if long := shortcut(text); long != "" {
		text = long
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields()) {
		return c, invalid("the schedule %.60q has %d fields, not 5", s.Cron, len(parts)).
			WithHint("write minute, hour, day of the month, month and day of the week, such as  30 6 * * MON-FRI")
	}
	for i, into := range []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.weekday} {
		if *into, err = fields()[i].parse(parts[i]); err != nil {
			return c, err
		}
	}
	if c.weekday&(1<<7) != 0 { // 7 is Sunday as well
		c.weekday |= 1
	}
	c.anyHour, c.anyDay, c.anyWeekday = strings.HasPrefix(parts[1], "*"), strings.HasPrefix(parts[2], "*"), strings.HasPrefix(parts[4], "*")
	return c, nil
}

// parse reads the numbers that a field selects.
func (f field) parse(text string) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		bounds, every, stepped := strings.Cut(part, "/")
		step, from, to := 1, f.least, f.most
		if stepped {
			if step, err = strconv.Atoi(every); err != nil || step < 1 || step > f.most {
				return 0, invalid("the schedule has the step %.20q for the %s", every, f.name).WithHint("write steps as */15")
			}
		}
		if bounds != "*" {
			first, last, isRange := strings.Cut(bounds, "-")
			if from, err = f.number(first); err != nil {
				return 0, err
			}
			switch {
			case isRange:
				if to, err = f.number(last); err != nil {
					return 0, err
				}
			case !stepped:
				to = from
			}
			if to < from {
				return 0, invalid("the schedule has %.20q for the %s, which ends before it begins", bounds, f.name)
			}
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	return set, nil
}

// number reads a number or a name of a field.
func (f field) number(text string) (int, error) {
	for i, word := range f.words {
		if text == word {
			return f.least + i, nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil || int(n) < f.least || int(n) > f.most {
		return 0, invalid("the schedule has %.20q for the %s", text, f.name).WithHint("use numbers from %d to %d", f.least, f.most)
	}
	return int(n), nil
}

// on reports whether a schedule selects a day. As in cron, a day of the month and a day
// of the week are two ways to select it, unless one of them is *.
func (c cron) on(t time.Time) bool {
	day, weekday := c.day&(1<<t.Day()) != 0, c.weekday&(1<<int(t.Weekday())) != 0
	if c.month&(1<<int(t.Month())) == 0 {
		return false
	}
	if c.anyDay || c.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// at reports whether a schedule selects a minute of the clock.
func (c cron) at(t time.Time) bool {
	return c.minute&(1<<t.Minute()) != 0 && c.hour&(1<<t.Hour()) != 0 && c.on(t)
}

// Next returns the first time of the schedule after another time. When clocks go
// forward, what is in the hour that is left out comes right after it; when they go back,
// what is at an hour of the day comes once.
func (s Schedule) Next(after time.Time) (time.Time, error) {
	c, err := s.parse()
	if err != nil {
		return time.Time{}, err
	}
	end := after.Add(horizon)
	for t := after.UTC().Truncate(time.Minute).Add(time.Minute); t.Before(end); {
		local := t.In(c.zone)
		if c.left(t) || c.at(local) && !c.again(t) {
			return t, nil
		}
		if c.on(local) && c.hour&(1<<local.Hour()) != 0 {
			t = t.Add(time.Minute)
			continue
		}
		t = c.nextHour(t)
	}
	return time.Time{}, invalid("the schedule %.60q never comes", s.Cron)
}

// nextHour returns the next full hour of the clock, or an earlier change of the clock.
func (c cron) nextHour(t time.Time) time.Time {
	next := t.Add(time.Duration(60-t.In(c.zone).Minute()) * time.Minute)
	if _, change := t.In(c.zone).ZoneBounds(); change.After(t) && change.Before(next) {
		return change
	}
	return next
}

// turned returns by how much the clock was turned forward in the time before t.
func (c cron) turned(t time.Time, within time.Duration) time.Duration {
	_, before := t.Add(-within).In(c.zone).Zone()
	_, now := t.In(c.zone).Zone()
	return time.Duration(now-before) * time.Second
}

// left reports whether clocks went forward at t over a minute that the schedule selects.
func (c cron) left(t time.Time) bool {
	gap := c.turned(t, time.Minute)
	if c.anyHour || gap <= 0 {
		return false
	}
	_, offset := t.Add(-time.Minute).In(c.zone).Zone()
	old := time.FixedZone("", offset)
	for skipped := time.Duration(0); skipped < gap; skipped += time.Minute {
		if c.at(t.Add(skipped).In(old)) {
			return true
		}
	}
	return false
}

// again reports whether t is an hour of the day that clocks show for the second time.
func (c cron) again(t time.Time) bool {
	const longest = 3 * time.Hour
	start, _ := t.In(c.zone).ZoneBounds()
	if c.anyHour || start.IsZero() || t.Sub(start) >= longest {
		return false
	}
	back := -c.turned(start, time.Minute)
	return back > 0 && t.Sub(start) < back
}
