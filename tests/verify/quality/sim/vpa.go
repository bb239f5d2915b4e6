package main

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpa_types "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpa_util "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// The real recommender's model and estimators and the real updater's rule (v1.8.1), driven by a clock of our own.
type vpaConfig struct {
	name      string
	every     int // seconds between two turns of metrics fetch, recommendation and update
	rec       logic.RecommendationConfig
	aggregate *model.AggregationsConfig
	lifetime  time.Duration // in-recommendation-bounds-eviction-lifetime-threshold
	warm      bool          // fed with the days before the window
}

func defaults() logic.RecommendationConfig {
	return logic.RecommendationConfig{
		SafetyMarginFraction: 0.15, PodMinCPUMillicores: 25, PodMinMemoryMb: 250,
		TargetCPUPercentile: 0.9, LowerBoundCPUPercentile: 0.5, UpperBoundCPUPercentile: 0.95, ConfidenceIntervalCPU: 24 * time.Hour,
		TargetMemoryPercentile: 0.9, LowerBoundMemoryPercentile: 0.5, UpperBoundMemoryPercentile: 0.95, ConfidenceIntervalMemory: 24 * time.Hour,
	}
}

func vpaConfigs() []vpaConfig {
	standard := model.NewAggregationsConfig(24*time.Hour, 8, 24*time.Hour, 24*time.Hour, model.DefaultOOMBumpUpRatio, model.DefaultOOMMinBumpUp)
	small := func(interval time.Duration) logic.RecommendationConfig {
		c := defaults()
		c.PodMinCPUMillicores, c.PodMinMemoryMb = 5, 16
		c.ConfidenceIntervalCPU, c.ConfidenceIntervalMemory = interval, interval
		return c
	}
	quick := func(halfLife, interval time.Duration) *model.AggregationsConfig {
		return model.NewAggregationsConfig(interval, 8, halfLife, halfLife, model.DefaultOOMBumpUpRatio, model.DefaultOOMMinBumpUp)
	}
	return []vpaConfig{
		{name: "vpa", every: 60, rec: defaults(), aggregate: standard, lifetime: 12 * time.Hour},
		{name: "vpa-warm", every: 60, rec: defaults(), aggregate: standard, lifetime: 12 * time.Hour, warm: true},
		// As fast as its flags allow with sense: half-lives of 30 s, confidence of 1 min, a turn every 15 s.
		{name: "vpa-fast", every: 15, rec: small(time.Minute), aggregate: quick(30*time.Second, 30*time.Second), lifetime: 30 * time.Second},
		// Chosen for quality rather than for speed.
		{name: "vpa-30m", every: 15, rec: small(10 * time.Minute), aggregate: quick(30*time.Minute, 10*time.Minute), lifetime: time.Minute},
	}
}

// A day within the range in which the histogram's reference times behave.
var epoch = time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)

func runVPA(cfg vpaConfig, c *Curve) *Run {
	model.InitializeAggregationsConfig(cfg.aggregate)
	state := model.NewAggregateContainerState()
	mode := vpa_types.UpdateModeInPlaceOrRecreate
	newContainer := func() *model.ContainerState { return model.NewContainerState(model.Resources{}, state) }
	container := newContainer()
	recommender := logic.CreatePodResourceRecommender(cfg.rec)
	vpa := &vpa_types.VerticalPodAutoscaler{Spec: vpa_types.VerticalPodAutoscalerSpec{UpdatePolicy: &vpa_types.PodUpdatePolicy{UpdateMode: &mode}}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: list(Template[0], Template[2]), Limits: list(Template[1], Template[3])}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: epoch}, ContainerStatuses: []corev1.ContainerStatus{{Name: "app"}}},
	}
	run := &Run{Controller: cfg.name, Curve: c.Name, Starts: []float64{0}, Counts: map[string]int{}}
	inForce := Template
	run.Sizes = append(run.Sizes, [5]float64{0, inForce[0], inForce[1], inForce[2], inForce[3]})
	if cfg.warm {
		n := len(c.Pre)
		for i, v := range c.Pre {
			at := epoch.Add(-time.Duration(n-i) * time.Minute)
			container.AddSample(&model.ContainerUsageSample{MeasureStart: at, Usage: model.CPUAmountFromCores(v / 1000), Resource: model.ResourceCPU})
			container.AddSample(&model.ContainerUsageSample{MeasureStart: at, Usage: model.MemoryAmountFromBytes(c.Memory.Read(0, 0)), Resource: model.ResourceMemory})
		}
		pod.Status.StartTime.Time = epoch.Add(-time.Duration(n) * time.Minute)
	}
	var wanted *[4]float64 // accepted by the API server, not yet in force
	wantedAt := 0.0
	startedAt, downUntil, backOff := 0.0, -1.0, 0.0
	metrics := newMetricsServer(c.Name)
	for t := 0; t < c.Seconds; t++ {
		sec := float64(t)
		now := epoch.Add(time.Duration(t) * time.Second)
		isUp := sec >= downUntil
		if isUp && downUntil == sec {
			startedAt = sec
			run.Starts = append(run.Starts, sec)
		}
		usage, bytes := 0.0, 0.0
		if isUp {
			usage = math.Min(c.CPU.Read(sec, 0), inForce[1])
			bytes = c.HeldAt(sec, sec-startedAt)
			if bytes > inForce[3] {
				run.Kills = append(run.Kills, sec)
				// The observer of OOMs takes the container's request at that time.
				_ = container.RecordOOM(now, model.MemoryAmountFromBytes(inForce[2]))
				lived := sec - startedAt
				// As the kubelet: at once after ten minutes of running, else 10 s, 20 s, ... 5 min.
				wait := backOff
				if lived > 600 {
					wait = 0
				}
				backOff = math.Min(math.Max(10, 2*wait), 300)
				downUntil = sec + 1 + wait
				pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
					Reason: "OOMKilled", StartedAt: metav1.Time{Time: epoch.Add(time.Duration(startedAt) * time.Second)}, FinishedAt: metav1.Time{Time: now}}
				usage, bytes = 0, 0
			}
		}
		metrics.pass(sec, usage, bytes)
		// The kubelet lowers no memory limit below what is in use (page cache included): the whole resize waits for it.
		if wanted != nil {
			held := bytes + math.Min(c.Cache.Read(sec, 0), math.Max(0, inForce[3]-bytes))
			if wanted[3] >= inForce[3] || held < wanted[3] {
				inForce = *wanted
				wanted = nil
				run.Sizes = append(run.Sizes, [5]float64{sec, inForce[0], inForce[1], inForce[2], inForce[3]})
			}
		}
		if t == 0 || t%cfg.every != 0 || !isUp {
			continue
		}
		if m := metrics; m.window > 0 {
			at := epoch.Add(time.Duration(m.at*1000) * time.Millisecond)
			container.AddSample(&model.ContainerUsageSample{MeasureStart: at, Usage: model.CPUAmountFromCores(m.rate / 1000), Resource: model.ResourceCPU})
			container.AddSample(&model.ContainerUsageSample{MeasureStart: at, Usage: model.MemoryAmountFromBytes(m.bytes), Resource: model.ResourceMemory})
		}
		// As routines/vpa.go: nothing is recommended before the first sample.
		if state.TotalSamplesCount == 0 {
			continue
		}
		merged := model.NewAggregateContainerState()
		merged.MergeContainerState(state)
		resources := recommender.GetRecommendedPodResources(model.ContainerNameToAggregateStateMap{"app": merged})
		vpa.Status.Recommendation = logic.MapToListOfRecommendedContainerResources(resources, logic.RecommendationFormat{RoundCPUMillicores: 1, RoundMemoryBytes: 1})
		if wanted != nil && sec-wantedAt < 3600 {
			run.Counts["waits for the kubelet"]++
			continue
		}
		calculator := priority.NewUpdatePriorityCalculator(vpa, priority.UpdateConfig{MinChangePriority: 0.1, PodLifetimeUpdateThreshold: cfg.lifetime, EvictAfterOOMThreshold: 10 * time.Minute},
			vpa_util.NewCappingRecommendationProcessor(limitrange.NewNoopLimitsCalculator()), priority.NewProcessor())
		calculator.AddPod(pod, now, nil)
		if len(calculator.GetSortedPods(priority.NewDefaultPodEvictionAdmission())) == 0 {
			continue
		}
		target := vpa.Status.Recommendation.ContainerRecommendations[0].Target
		was := pod.Spec.Containers[0].Resources
		// In proportion to what the template had: a drift by rounding would be no fault of the algorithm.
		limits, _ := vpa_util.GetProportionalLimit(list(Template[1], Template[3]), list(Template[0], Template[2]), target, nil)
		if was.Requests.Cpu().Cmp(*target.Cpu()) == 0 && was.Requests.Memory().Cmp(*target.Memory()) == 0 {
			continue
		}
		pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: target.DeepCopy(), Limits: limits}
		next := [4]float64{float64(target.Cpu().MilliValue()), float64(limits.Cpu().MilliValue()), float64(target.Memory().Value()), float64(limits.Memory().Value())}
		if wanted != nil {
			// InPlaceOrRecreate: a resize that is under way for an hour ends in an eviction, and the new pod has the newest size.
			wanted, inForce = nil, next
			run.Sizes = append(run.Sizes, [5]float64{sec, inForce[0], inForce[1], inForce[2], inForce[3]})
			run.Counts["evictions"]++
			run.Kills = append(run.Kills, sec)
			downUntil, backOff = sec+5, 0
			container = newContainer()
			continue
		}
		wanted, wantedAt = &next, sec
		if wantedAt == sec {
			run.Counts["updates"]++
		}
	}
	return run
}

func list(cpu, memory float64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(cpu), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(memory), resource.BinarySI),
	}
}

// metricsServer: cAdvisor reads a container's counter every 10 to 19 s, as the embedded kubelet has it from
// measurements; metrics-server scrapes it every 15 s and tells the rate between the newest two different points.
type metricsServer struct {
	random             *rng
	counter            float64 // millicore-seconds
	nextAt             float64
	known, told, older point
	bytes              float64
	at, rate, window   float64
}

type point struct{ at, counter, bytes float64 }

func newMetricsServer(name string) *metricsServer {
	r := seedOf(name + " cadvisor")
	return &metricsServer{random: r, nextAt: 11 + 13*r.float()}
}

func (m *metricsServer) pass(sec, usage, bytes float64) {
	m.counter += usage
	if sec >= m.nextAt {
		m.known = point{sec, m.counter, bytes}
		m.nextAt += math.Floor(10 + 10*m.random.float())
	}
	if int(sec)%15 != 7 || m.known.at <= m.told.at {
		return
	}
	m.older, m.told = m.told, m.known
	if m.older.at == 0 {
		return
	}
	m.window = m.told.at - m.older.at
	m.rate, m.bytes, m.at = (m.told.counter-m.older.counter)/m.window, m.told.bytes, m.told.at
}
